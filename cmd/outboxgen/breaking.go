package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/compat"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/spf13/cobra"
)

func newBreaking() *cobra.Command {
	var (
		where   specFlags
		format  diagnosticFormat
		against string
		all     bool
	)
	cmd := &cobra.Command{
		Use:   "breaking --against FILE|REF:FILE",
		Short: "Report changes of a spec that break stored events, receivers or Go code",
		Long: `breaking compares the spec with an earlier one, a file or REF:FILE in git's
history, and reports every change that can break an event that is stored and not
yet delivered, a receiver with the old contract, or code that uses the generated
package. It exits with 1 when there is one.

FILE after a REF is relative to the repository's root, or begins with ./`,
		Example: "  outboxgen breaking --against main:events/events.yaml",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if against == "" {
				return &usageError{cmd.CommandPath(), errors.New("--against is missing: name the earlier spec, FILE or REF:FILE")}
			}
			current, err := where.path()
			if err != nil {
				return err
			}
			earlier, err := findEarlier(cmd.Context(), where.dir, against)
			if err != nil {
				return err
			}
			oldSpec, err := loadSpec(cmd, format, earlier)
			if err != nil {
				return err
			}
			file := specFile(current)
			newSpec, err := loadSpec(cmd, format, file)
			if err != nil {
				return err
			}
			changes := compat.Breaking(oldSpec, newSpec)
			if all {
				changes = compat.Changes(oldSpec, newSpec)
			}
			diagnostics := make(spec.Diagnostics, len(changes))
			for i, c := range changes {
				diagnostics[i] = c.Diagnostic()
			}
			if err := report(cmd, format, file, diagnostics); err != nil {
				return err
			}
			if diagnostics.HasErrors() {
				return errReported
			}
			return nil
		},
	}
	where.register(cmd)
	format.register(cmd)
	cmd.Flags().StringVar(&against, "against", "", "the earlier spec: FILE, or REF:FILE in git's history (required)")
	cmd.Flags().BoolVar(&all, "all", false, "report safe changes too, as warnings")
	return cmd
}

// loadSpec reads a spec that has to be right; its faults are reported.
func loadSpec(cmd *cobra.Command, format diagnosticFormat, source specSource) (*spec.Spec, error) {
	s, diagnostics := spec.Load(source.name, source.read)
	if !diagnostics.HasErrors() {
		return s, nil
	}
	return nil, errors.Join(errReported, report(cmd, format, source, diagnostics))
}

// findEarlier finds what --against names. A file that is there comes before a
// ref, so that a path with a colon works.
func findEarlier(ctx context.Context, dir, against string) (specSource, error) {
	file := against
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	_, statErr := os.Stat(file)
	if statErr == nil {
		return specFile(file), nil
	}
	if !errors.Is(statErr, fs.ErrNotExist) && !strings.Contains(against, ":") {
		return specSource{}, statErr
	}
	ref, name, ok := strings.Cut(against, ":")
	if !ok {
		return specSource{}, fmt.Errorf("--against %s: there is no such file; for one in git's history write REF:FILE, as in main:events/events.yaml", against)
	}
	if ref == "" || name == "" {
		return specSource{}, fmt.Errorf("--against %s: write REF:FILE, as in main:events/events.yaml", against)
	}
	if strings.HasPrefix(ref, "-") {
		return specSource{}, fmt.Errorf("--against %s: a ref does not begin with -", against)
	}
	return specInGit(ctx, dir, ref, name)
}

// specInGit reads a spec out of git's history. The ref is resolved once, so
// that all files are of one commit.
func specInGit(ctx context.Context, dir, ref, name string) (specSource, error) {
	commit, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return specSource{}, fmt.Errorf("git knows no commit %q here: %w", ref, err)
	}
	folder, base := path.Split(name)
	source := specSource{name: base, folder: ref + ":" + folder}
	source.read = func(included string) ([]byte, error) {
		// path.Join would take away the ./ that makes a path relative to dir.
		file := path.Join(folder, included)
		if strings.HasPrefix(folder, ".") {
			file = "./" + file
		}
		return git(ctx, dir, "cat-file", "blob", strings.TrimSpace(string(commit))+":"+file)
	}
	return source, nil
}

func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if message := strings.TrimSpace(stderr.String()); err != nil && message != "" {
		return nil, errors.New(message)
	}
	return out, err
}
