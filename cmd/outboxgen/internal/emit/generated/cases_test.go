package generated_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/emittest"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/everything"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/names"
)

func written(t *testing.T, e event) string {
	t.Helper()
	b, err := e.AppendCanonical(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestCase_G01 is names that differ by a sign only: each keeps its own.
func TestCase_G01(t *testing.T) {
	have := written(t, &names.Signs{Plus1: 1, Minus1: -1, Zone: names.SignsZoneEtcGMTPlus12})
	if want := `{"+1":1,"-1":-1,"zone":"Etc/GMT+12"}`; have != want {
		t.Errorf("have %s, want %s", have, want)
	}
	if names.SignsZone("Etc/GMT+2").Valid() || !names.SignsZoneEtcGMT1.Valid() {
		t.Error("Valid takes other texts than the enum's")
	}
}

// TestCase_G03 is names that start with a digit.
func TestCase_G03(t *testing.T) {
	have := written(t, &names.N2faChanged{N1X: 1, N2X: 2, N3X: 3, N007: "bond", N2faSecret: "s", N5qi: 5})
	want := `{"007":"bond","1.2":0,"12":0,"1X":1,"2X":2,"2fa_secret":"s","3X":3,"5qi":5}`
	if have != want {
		t.Errorf("have %s, want %s", have, want)
	}
}

// TestCase_G11 is enum values that YAML readers turn into something else.
func TestCase_G11(t *testing.T) {
	values := []string{"NO", "on", "off", "y", "+1", "-1", "1.10", "0755", "1e3", "2026-01-02", "null", "~", "true", "123456789123456789123"}
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, strconv.Quote(v))
	}
	s := emittest.LoadText(t, fmt.Sprintf(`
version: 1
package: events
source: /g11
defaults: {idempotency: event, to: []}
events:
  told: {fields: {word: {enum: [%s]}, "on": int, "null": int, "42": int, "true": int}}
`, strings.Join(quoted, ", ")))
	file, err := parser.ParseFile(token.NewFileSet(), "events.gen.go", emittest.Files(t, s)[0].Content, 0)
	if err != nil {
		t.Fatal(err)
	}
	var constants, members []string
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(text, `":`) {
			members = append(members, text)
		} else {
			constants = append(constants, text)
		}
		return true
	})
	for _, v := range values {
		if !slices.Contains(constants, v) {
			t.Errorf("%q is none of %q", v, constants)
		}
	}
	if want := []string{`"42":`, `"null":`, `"on":`, `"true":`, `"word":`}; !slices.Equal(members, want) {
		t.Errorf("members %q, want %q", members, want)
	}
}

// TestCase_G13 is recursive types: through lists, maps and pointers.
func TestCase_G13(t *testing.T) {
	leaf := everything.Node{Name: "leaf"}
	tree := everything.TreesGrown{Root: everything.Node{Name: "root", Children: []everything.Node{leaf}, Parent: &leaf, ByName: map[string]everything.Node{"a": leaf}}}
	const node = `{"by_name":{},"children":[],"name":"leaf","twin":null}`
	want := `{"nothing":{},"root":{"by_name":{"a":` + node + `},"children":[` + node + `],"name":"root","parent":` + node + `,"twin":null}}`
	if have := written(t, &tree); have != want {
		t.Errorf("have %s\nwant %s", have, want)
	}
}
