package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// errBeyondRepair: the copy is not what the next mutant needs.
var errBeyondRepair = errors.New("the patch could not be taken back")

// testsOf runs the tests of all mutants without any, those of a package
// together, and returns why one cannot tell anything.
func testsOf(ctx context.Context, work string, mutants []mutant) map[test]error {
	patterns := make(map[string][]string)
	verdicts := make(map[test]error)
	for _, m := range mutants {
		if _, known := verdicts[m.test]; !known {
			verdicts[m.test] = nil
			patterns[m.test.pkg] = append(patterns[m.test.pkg], m.test.pattern())
		}
	}
	outputs := make(map[string]string)
	for pkg, tests := range patterns {
		outputs[pkg], _ = goTest(ctx, work, pkg, strings.Join(tests, "|"))
	}
	for t := range verdicts {
		switch result := t.result(outputs[t.pkg]); result {
		case "PASS":
		case "":
			verdicts[t] = fmt.Errorf("%v was not run: %s", t, tail(outputs[t.pkg]))
		default:
			verdicts[t] = fmt.Errorf("%v is %s without the mutant: %s", t, result, tail(outputs[t.pkg]))
		}
	}
	return verdicts
}

// mustDie applies the mutant, wants its test to be red, and takes it back. It
// returns what the test said.
func (m mutant) mustDie(ctx context.Context, work string) (said string, err error) {
	if out, err := output(ctx, work, "git", "apply", m.file); err != nil {
		return "", fmt.Errorf("the patch does not apply: %s", tail(out))
	}
	defer func() {
		if out, undo := output(context.WithoutCancel(ctx), work, "git", "apply", "-R", m.file); undo != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w: %s", m.name, errBeyondRepair, tail(out)))
		}
	}()
	out, testErr := goTest(ctx, work, m.test.pkg, m.test.pattern())
	switch {
	case testErr == nil:
		return out, fmt.Errorf("%v is green: it does not see the broken promise", m.test)
	case m.test.result(out) == "FAIL" || crashed.MatchString(out):
		return out, nil
	default: // it does not compile, or something else is red
		return out, fmt.Errorf("%v did not turn red: %s", m.test, tail(out))
	}
}

// crashed: the whole test binary ended, by a panic or because it hung.
var crashed = regexp.MustCompile(`(?m)^(panic|fatal error): `)

// pattern is -run's for this test alone.
func (t test) pattern() string {
	parts := strings.Split(t.name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// result is PASS, FAIL, SKIP, or "" when the test was not run.
func (t test) result(out string) string {
	line := regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): ` + regexp.QuoteMeta(t.name) + ` \(`)
	if m := line.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return ""
}

// goTest runs tests of a package.
func goTest(ctx context.Context, work, pkg, pattern string) (string, error) {
	return output(ctx, work, "go", "test", "-count=1", "-v", "-vet=off", "-timeout=3m", "-run="+pattern, pkg)
}

// copyRepository copies what git knows or would add.
func copyRepository(ctx context.Context, from, to string) error {
	list, err := output(ctx, from, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return fmt.Errorf("%w: %s", err, tail(list))
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

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	if filepath.IsAbs(dir) {
		// The copy is no checkout: git must not find one above it.
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	}
	err := cmd.Run()
	return out.String(), err
}

func tail(text string) string {
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-600):]
}
