package outboxgen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// guarantee is a row of a table of docs/guarantees.md.
type guarantee struct {
	promise   string
	pkg, test string
	mutants   []string
}

// TestGuarantees_NameTestsAndMutantsThatExist: a promise is worth what holds
// it, so docs/guarantees.md may name nothing that is not there, and leave no
// mutant out.
func TestGuarantees_NameTestsAndMutantsThatExist(t *testing.T) {
	rows := guarantees(t)
	placed := make(map[string]bool)
	for _, g := range rows {
		if err := g.find(); err != nil {
			t.Errorf("promise %s: %v", g.promise, err)
		}
		for _, name := range g.mutants {
			if placed[name] {
				t.Errorf("the mutant %s stands there twice", name)
			}
			placed[name] = true
			head, err := mutantHead(filepath.Join("tools", "mutants", name+".patch"))
			if err != nil {
				t.Errorf("promise %s: %v", g.promise, err)
				continue
			}
			if want := fmt.Sprintf("./%s %s", g.pkg, g.test); head["Test"] != want {
				t.Errorf("the mutant %s names the test %q, and stands beside %q", name, head["Test"], want)
			}
			if head["Promise"] != g.promise || !strings.HasPrefix(name, fmt.Sprintf("%02s-", g.promise)) || head["Breaks"] == "" {
				t.Errorf("the mutant %s stands under promise %s and says that it breaks promise %s: %q", name, g.promise, head["Promise"], head["Breaks"])
			}
		}
	}
	patches, err := filepath.Glob(filepath.Join("tools", "mutants", "*.patch"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range patches {
		if name := strings.TrimSuffix(filepath.Base(p), ".patch"); !placed[name] {
			t.Errorf("docs/guarantees.md does not have the mutant %s", name)
		}
	}
	for n := 1; n <= 12; n++ {
		if !slices.ContainsFunc(rows, func(g guarantee) bool { return g.promise == fmt.Sprint(n) && len(g.mutants) > 0 }) {
			t.Errorf("promise %d has no mutant", n)
		}
	}
}

// guarantees reads the tables.
func guarantees(t *testing.T) []guarantee {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("docs", "guarantees.md"))
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`^## (\d+)\. `)
	row := regexp.MustCompile("^\\| `([^`]+)` `([^`]+)` \\| (.*) \\|$")
	name := regexp.MustCompile("`([^`]+)`")
	var all []guarantee
	promise := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if m := heading.FindStringSubmatch(line); m != nil {
			promise = m[1]
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("docs/guarantees.md: a row is not `package` `test` | mutants: %s", line)
			continue
		}
		g := guarantee{promise: promise, pkg: m[1], test: m[2]}
		for _, mutant := range name.FindAllStringSubmatch(m[3], -1) {
			g.mutants = append(g.mutants, mutant[1])
		}
		all = append(all, g)
	}
	return all
}

// find looks for the test in its package. The name of a subtest is a string
// there, or in the suite that stores share; `make mutants` runs those with
// mutants by their whole names.
func (g guarantee) find() error {
	top, sub, hasSub := strings.Cut(g.test, "/")
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(g.pkg), "*_test.go"))
	if err != nil {
		return err
	}
	own := readAll(files)
	if !strings.Contains(own, "\nfunc "+top+"(t *testing.T)") {
		return fmt.Errorf("%s has no test %s", g.pkg, top)
	}
	if !hasSub {
		return nil
	}
	suite, err := filepath.Glob(filepath.Join("runtime", "storetest", "*.go"))
	if err != nil {
		return err
	}
	if !strings.Contains(own+readAll(suite), `"`+sub+`"`) {
		return fmt.Errorf("neither %s nor the suite of stores has a subtest %q", g.pkg, sub)
	}
	return nil
}

func readAll(files []string) string {
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil {
			all.Write(text)
		}
	}
	return all.String()
}

// mutantHead reads the lines of a patch before its diff.
func mutantHead(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	head := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "--- ") {
			break
		}
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			head[key] = value
		}
	}
	return head, nil
}
