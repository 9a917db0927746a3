package compat

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what comes into the fixtures and docs")

func load(t *testing.T, name string, text []byte) *spec.Spec {
	t.Helper()
	s, diagnostics := spec.Load(name, func(string) ([]byte, error) { return text, nil })
	if s == nil {
		t.Fatalf("%s\n%s", diagnostics, text)
	}
	return s
}

// testdata has a file for each rule: an old spec, a changed one of which the
// rule speaks, one in which it finds nothing, and all that is said of the
// changed one.
func TestRules(t *testing.T) {
	var known []string
	for _, rule := range Rules() {
		known = append(known, rule.Name+".txtar")
		t.Run(rule.Name, func(t *testing.T) {
			path := filepath.Join("testdata", rule.Name+".txtar")
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string][]byte{}
			for _, f := range archive.Files {
				files[f.Name] = f.Data
			}
			old := load(t, "old.yaml", files["old.yaml"])
			changes := Changes(old, load(t, "changed.yaml", files["changed.yaml"]))
			var got strings.Builder
			for _, c := range changes {
				fmt.Fprintf(&got, "%s [%s]\n", c.Diagnostic(), c.Rule.Name)
			}
			want := &archive.Files[len(archive.Files)-1]
			if *update {
				want.Data = []byte(got.String())
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got.String() != string(want.Data) {
				t.Errorf("got:\n%swant:\n%s", got.String(), want.Data)
			}
			if !slices.ContainsFunc(changes, func(c Change) bool { return c.Rule.Name == rule.Name }) {
				t.Errorf("a fixture of %s does not show it", rule.Name)
			}
			breaking := Breaking(old, load(t, "changed.yaml", files["changed.yaml"]))
			if rule.Breaking() != (len(breaking) > 0) {
				t.Errorf("breaking changes: %v", breaking)
			}
			for _, c := range Changes(old, load(t, "unchanged.yaml", files["unchanged.yaml"])) {
				if c.Rule.Name == rule.Name || c.Rule.Breaking() {
					t.Errorf("where nothing is changed: %s [%s]", c, c.Rule.Name)
				}
			}
			if same := Changes(old, load(t, "old.yaml", files["old.yaml"])); len(same) > 0 {
				t.Errorf("a spec differs from itself: %v", same)
			}
		})
	}
	paths, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if !slices.Contains(known, p.Name()) {
			t.Errorf("testdata/%s belongs to no rule", p.Name())
		}
	}
}

const twoVersions = `
version: 1
package: events
source: /shop
types:
  Item: {fields: {sku: string%s}}
  Node: {fields: {children: [Node], value: int}}
events:
%s`

// A new version leaves the names of the old one to it, and what both use must
// still fit the old one.
func TestChanges_ANewVersionBesideTheOld(t *testing.T) {
	const body = "to: [], idempotency: event, fields: {item: Item, tree: Node, color: {enum: [red]}}}\n"
	old := load(t, "old.yaml", fmt.Appendf(nil, twoVersions, "", "  order: {"+body))
	for name, c := range map[string]struct {
		item, events string
		want         []string
	}{
		"old version as it was": {"", "  order: {version: 2, to: [], idempotency: payload, fields: {id: uuid}}\n  order@1: {" + body, []string{"event-version-added"}},
		"old version touched": {"", "  order: {version: 2, " + body + "  order@1: {to: [], idempotency: event, fields: {item: Item, tree: Node, color: {enum: [blue]}}}\n",
			[]string{"event-version-added", "enum-value-removed", "enum-value-added"}},
		"shared type touched": {", count: int", "  order: {version: 2, " + body + "  order@1: {" + body, []string{"required-field-added", "event-version-added"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, change := range Changes(old, load(t, "new.yaml", fmt.Appendf(nil, twoVersions, c.item, c.events))) {
				got = append(got, change.Rule.Name)
				if change.Rule.Name == requiredFieldAdded.Name && !strings.Contains(change.String(), "in a new type beside this one") {
					t.Errorf("a type has no versions: %s", change)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
