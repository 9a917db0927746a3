package compat

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDocs_ListEveryRule(t *testing.T) {
	const path = "../../../../docs/breaking.md"
	docs, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := bytes.Cut(docs, []byte("<!-- rules -->\n"))
	_, after, closed := bytes.Cut(rest, []byte("<!-- /rules -->\n"))
	if !found || !closed {
		t.Fatalf("%s has no place for the rules", path)
	}
	var table strings.Builder
	table.WriteString("<!-- rules -->\n| rule | what changed | can break | why | instead |\n|---|---|---|---|---|\n")
	for _, r := range Rules() {
		breaks := "–"
		if r.Breaking() {
			names := make([]string, len(r.Breaks))
			for i, v := range r.Breaks {
				names[i] = string(v)
			}
			breaks = strings.Join(names, ", ")
		}
		advice := r.Advice
		if advice == "" {
			advice = "safe"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s |\n", r.Name, r.Doc, breaks, r.Why, advice)
	}
	table.WriteString("<!-- /rules -->\n")
	want := string(before) + table.String() + string(after)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(docs) != want {
		t.Errorf("%s does not list the rules as they are: run go test with -update", path)
	}
}
