package emit_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/emittest"
)

// TestCase_G08: whatever a spec's texts say, the output declares and imports
// what it does for a harmless text, and holds no directive.
func TestCase_G08(t *testing.T) {
	s := emittest.LoadText(t, emittest.Harmless)
	emittest.Saying(s, "harmless")
	want := declarations(t, emittest.Files(t, s))
	for _, text := range emittest.Evil {
		s := emittest.LoadText(t, emittest.Harmless)
		emittest.Saying(s, text)
		out := emittest.Files(t, s)
		have := declarations(t, out)
		if text == "" {
			// No patterns, no regexp.
			continue
		}
		if !slices.Equal(have, want) {
			t.Errorf("%.40q: declarations are\n%s\nwant\n%s", text, strings.Join(have, "\n"), strings.Join(want, "\n"))
		}
		for _, f := range out {
			if again, err := format.Source(f.Content); err != nil || !bytes.Equal(again, f.Content) {
				t.Errorf("%.40q: gofmt would change %s, %v", text, f.Name, err)
			}
			for line := range strings.Lines(string(f.Content)) {
				if d := directive.FindString(line); d != "" {
					t.Errorf("%.40q: %s has the directive %s", text, f.Name, d)
				}
			}
		}
	}
}

// directive is a line that tools act on: //go:…, //line, //export, and build
// constraints of both forms.
var directive = regexp.MustCompile(`^\s*(//[a-z]|/\*|//\s*\+build)\S*`)

// declarations lists the package clause, imports and declarations of the Go
// files, without their comments and literals.
func declarations(t *testing.T, fs []emit.File) []string {
	t.Helper()
	var out []string
	fset := token.NewFileSet()
	for _, f := range fs {
		if !strings.HasSuffix(f.Name, ".go") {
			continue
		}
		file, err := parser.ParseFile(fset, f.Name, f.Content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%v\n%s", err, f.Content)
		}
		out = append(out, f.Name+" "+file.Name.Name)
		for _, i := range file.Imports {
			out = append(out, i.Path.Value)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for _, name := range n.Names {
					out = append(out, "value "+name.Name)
				}
			case *ast.TypeSpec:
				out = append(out, "type "+n.Name.Name)
			case *ast.FuncDecl:
				out = append(out, fmt.Sprintf("func %s, %d statements", n.Name.Name, len(n.Body.List)))
			case *ast.Field:
				for _, name := range n.Names {
					out = append(out, "field "+name.Name)
				}
			}
			return true
		})
	}
	return out
}
