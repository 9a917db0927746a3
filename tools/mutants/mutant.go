package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a patch with a head that says what it breaks, and which test must
// notice:
//
//	Promise: 4
//	Breaks: settles are not fenced
//	Test: ./runtime/sqlite TestStore_Conforms/Settle_OfALostLeaseChangesNothing
type mutant struct {
	name, file string
	test       test
}

// test is a test or subtest, by its whole name.
type test struct{ pkg, name string }

func (t test) String() string { return t.pkg + " " + t.name }

// load reads the mutants whose name contains one of names.
func load(dir string, names []string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".patch")
		selected := func(part string) bool { return strings.Contains(name, part) }
		if len(names) > 0 && !slices.ContainsFunc(names, selected) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		head := readHead(string(text))
		m := mutant{name: name, file: file}
		m.test.pkg, m.test.name, _ = strings.Cut(head["Test"], " ")
		if head["Promise"] == "" || head["Breaks"] == "" || m.test.name == "" {
			return nil, fmt.Errorf("%s: its head must have the lines Promise:, Breaks: and Test: PACKAGE TEST", file)
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no patch in %s has one of %q in its name", dir, names)
	}
	return all, nil
}

// readHead reads the lines before the first file's diff.
func readHead(patch string) map[string]string {
	head := make(map[string]string)
	for line := range strings.Lines(patch) {
		if strings.HasPrefix(line, "--- ") {
			break
		}
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			head[key] = value
		}
	}
	return head
}
