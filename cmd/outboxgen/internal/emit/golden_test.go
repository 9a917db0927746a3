package emit_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/emittest"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// TestFiles_AreAsCommitted compares the output for each folder of testdata.
// The tests in generated/ import the committed packages and run them.
func TestFiles_AreAsCommitted(t *testing.T) {
	specs, err := filepath.Glob("testdata/*/events.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no golden folders: %v", err)
	}
	for _, path := range specs {
		folder := filepath.Dir(path)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			want := emittest.Files(t, emittest.Load(t, folder))
			var names []string
			for _, f := range want {
				names = append(names, filepath.Join(folder, filepath.FromSlash(f.Name)))
				compare(t, names[len(names)-1], f.Content)
			}
			existing, _ := filepath.Glob(filepath.Join(folder, "*.gen.go"))
			for _, name := range existing {
				if !slices.Contains(names, name) {
					t.Errorf("%s is stale", name)
				}
			}
		})
	}
}

func compare(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what is generated now; if that is right, run go test -run TestFiles_AreAsCommitted -update", path)
	}
}
