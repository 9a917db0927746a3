package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/generate"
	"github.com/spf13/cobra"
)

// specName is the name of a spec where nothing else is said.
const specName = "events.yaml"

func newGenerate() *cobra.Command {
	var (
		where  specFlags
		format diagnosticFormat
		check  bool
	)
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write the Go code of an event spec",
		Long: `generate reads a spec, events.yaml here or in events/, and writes its Go code
beside it. Files that are as they should be are not touched. Files that an
earlier spec made and this one does not are removed from the folders that it
writes to. When anything is wrong nothing is written.

Warnings do not change the exit status. Diagnostics in the format text go to
standard error, others to standard output.`,
		Example: "  //go:generate go tool outboxgen generate",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec, err := where.path()
			if err != nil {
				return err
			}
			plan, err := planFor(cmd, spec, format)
			if err != nil {
				return err
			}
			if !check {
				return plan.Write()
			}
			if len(plan.Changes) == 0 {
				return nil
			}
			for _, c := range plan.Changes {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", plan.Path(c), c.State)
			}
			return fmt.Errorf("out of date: run outboxgen generate")
		},
	}
	where.register(cmd)
	format.register(cmd)
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit with 1 and the names of the files that would change")
	return cmd
}

// planFor compares the spec's files with its folder and reports the spec's
// diagnostics.
func planFor(cmd *cobra.Command, path string, format diagnosticFormat) (generate.Plan, error) {
	source := specFile(path)
	files, diagnostics, err := generate.Files(source.name, source.read)
	reportErr := report(cmd, format, source, diagnostics)
	switch {
	case err != nil:
		return generate.Plan{}, err
	case diagnostics.HasErrors():
		return generate.Plan{}, errors.Join(errReported, reportErr)
	case reportErr != nil:
		return generate.Plan{}, reportErr
	}
	return generate.Compare(filepath.Dir(path), files)
}

// specSource is where a spec is read from.
type specSource struct {
	name   string // of the spec, relative to its folder
	folder string // stands before a file's name in messages
	read   func(name string) ([]byte, error)
}

// specFile is a spec in the file system.
func specFile(path string) specSource {
	dir, name := filepath.Split(path)
	return specSource{name, dir, func(name string) ([]byte, error) {
		return readSpec(filepath.Join(dir, filepath.FromSlash(name)))
	}}
}

// maxSpec is far above any spec that people write: what is larger is a device
// or another file under the name.
const maxSpec = 64 << 20

func readSpec(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSpec+1))
	if err == nil && len(text) > maxSpec {
		err = fmt.Errorf("%s is larger than %d MiB: that is no spec", path, maxSpec>>20)
	}
	return text, err
}

// specFlags say which spec a command is about.
type specFlags struct {
	dir  string
	spec string
}

func (f *specFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.dir, "directory", "C", ".", "look there instead of in the current directory")
	cmd.Flags().StringVar(&f.spec, "spec", "", "the spec's file (default events.yaml, else events/events.yaml)")
}

// path finds the spec's file.
func (f *specFlags) path() (string, error) {
	if f.spec != "" {
		if filepath.IsAbs(f.spec) {
			return f.spec, nil
		}
		return filepath.Join(f.dir, f.spec), nil
	}
	candidates := []string{filepath.Join(f.dir, specName), filepath.Join(f.dir, "events", specName)}
	for _, candidate := range candidates {
		_, err := os.Stat(candidate)
		if err == nil {
			return candidate, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("no spec: neither %s nor %s is there; name it with --spec, or start with outboxgen init", candidates[0], candidates[1])
}
