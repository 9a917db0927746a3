// Command mutants shows that the tests of the promises can fail: it applies
// each patch of this folder to a copy of the repository and runs the test that
// the patch names, which must turn red. See docs/guarantees.md.
//
//	go run ./tools/mutants [PATTERN]
//
// PATTERN selects patches by a part of their names. The exit status is 1 when a
// mutant survives, does not apply or does not compile, or when its test is red
// without it.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	pattern := ""
	if len(os.Args) > 1 {
		pattern = os.Args[1]
	}
	if err := run(ctx, pattern); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// mutant is a patch with a head that says what it breaks:
//
//	Promise: 4
//	Breaks: settles are not fenced
//	Test: ./runtime/sqlite ^TestStore$/^Settle_LostLease
type mutant struct {
	name, promise, breaks string
	pkg, test             string
	patch                 string
}

func run(ctx context.Context, pattern string) error {
	top, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	top = strings.TrimSpace(top)
	mutants, err := load(filepath.Join(top, "tools", "mutants"), pattern)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "outboxgen-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := copyRepository(ctx, top, work); err != nil {
		return err
	}
	var failed []error
	green := map[string]error{}
	for _, m := range mutants {
		started := time.Now()
		key := m.pkg + " " + m.test
		if _, known := green[key]; !known {
			green[key] = mustPass(ctx, work, m)
		}
		err := green[key]
		if err == nil {
			err = mustFail(ctx, work, m)
		}
		verdict := "killed"
		if err != nil {
			verdict = "NOT KILLED: " + err.Error()
			failed = append(failed, fmt.Errorf("%s: %w", m.name, err))
		}
		fmt.Printf("promise %-3s %-34s %s (%s, %.0f s)\n", m.promise, m.name, verdict, m.breaks, time.Since(started).Seconds())
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	fmt.Printf("%d of %d mutants killed\n", len(mutants)-len(failed), len(mutants))
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d mutants are alive or cannot be tried", len(failed), len(mutants))
	}
	return nil
}

func load(dir, pattern string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".patch")
		if !strings.Contains(name, pattern) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m := mutant{name: name, patch: file}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch key {
			case "Promise":
				m.promise = value
			case "Breaks":
				m.breaks = value
			case "Test":
				m.pkg, m.test, _ = strings.Cut(value, " ")
			}
			if strings.HasPrefix(line, "--- ") {
				break
			}
		}
		if m.promise == "" || m.breaks == "" || m.pkg == "" || m.test == "" {
			return nil, fmt.Errorf("%s: its head must have the lines Promise:, Breaks: and Test: PACKAGE REGEXP", file)
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no patch in %s has %q in its name", dir, pattern)
	}
	return all, nil
}

// copyRepository copies what git knows or would add.
func copyRepository(ctx context.Context, from, to string) error {
	list, err := output(ctx, from, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func mustPass(ctx context.Context, work string, m mutant) error {
	out, err := test(ctx, work, m)
	if err != nil {
		return fmt.Errorf("%s %s is red without the mutant: %s", m.pkg, m.test, tail(out))
	}
	if strings.Contains(out, "no tests to run") || strings.Contains(out, "no test files") {
		return fmt.Errorf("%s has no test %s", m.pkg, m.test)
	}
	if strings.Contains(out, "--- SKIP") {
		return fmt.Errorf("%s %s is skipped here", m.pkg, m.test)
	}
	return nil
}

func mustFail(ctx context.Context, work string, m mutant) (err error) {
	if out, err := output(ctx, work, "git", "apply", "--unidiff-zero", m.patch); err != nil {
		return fmt.Errorf("the patch does not apply: %s", tail(out))
	}
	defer func() {
		if out, undo := output(ctx, work, "git", "apply", "--unidiff-zero", "-R", m.patch); undo != nil {
			err = errors.Join(err, fmt.Errorf("the patch cannot be undone: %s", tail(out)))
		}
	}()
	out, testErr := test(ctx, work, m)
	switch {
	case testErr == nil:
		return fmt.Errorf("%s %s is green: it cannot see the broken promise", m.pkg, m.test)
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return fmt.Errorf("it does not compile: %s", tail(out))
	}
	return nil
}

func test(ctx context.Context, work string, m mutant) (string, error) {
	return output(ctx, work, "go", "test", "-count=1", "-v", "-timeout=180s", "-run", m.test, m.pkg)
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	// A copy is no checkout: git must not find one above it.
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	err := cmd.Run()
	return out.String(), err
}

func tail(text string) string {
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-600):]
}
