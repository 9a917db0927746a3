package spec

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the diagnostics that come into the fixtures")

// fixture is one file of testdata/diagnostics: RULE_case.txtar holds a spec
// and, under want, everything that is said about it.
type fixture struct {
	path, rule string
	archive    *txtar.Archive
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	paths, err := filepath.Glob("testdata/diagnostics/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	out := make([]fixture, len(paths))
	for i, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rule, _, _ := strings.Cut(filepath.Base(path), "_")
		out[i] = fixture{path, rule, archive}
	}
	return out
}

func (f fixture) read(name string) ([]byte, error) {
	for _, file := range f.archive.Files {
		if file.Name == name && name != "want" {
			return file.Data, nil
		}
	}
	return nil, fs.ErrNotExist
}

func (f fixture) load() (*Spec, Diagnostics) { return Load("events.yaml", f.read) }

func TestDiagnostics(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(strings.TrimSuffix(filepath.Base(f.path), ".txtar"), func(t *testing.T) {
			s, diagnostics := f.load()
			if (s == nil) != diagnostics.HasErrors() {
				t.Errorf("spec %v beside errors %v", s != nil, diagnostics.HasErrors())
			}
			var got strings.Builder
			for _, d := range diagnostics {
				fmt.Fprintf(&got, "%s [%s]\n", d, d.Rule)
			}
			want := &f.archive.Files[len(f.archive.Files)-1]
			if *update {
				want.Data = []byte(got.String())
				if err := os.WriteFile(f.path, txtar.Format(f.archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got.String() != string(want.Data) {
				t.Errorf("got:\n%swant:\n%s", got.String(), want.Data)
			}
			if !strings.Contains(got.String(), "["+f.rule+"]\n") {
				t.Errorf("a fixture of %s does not show it", f.rule)
			}
		})
	}
}
