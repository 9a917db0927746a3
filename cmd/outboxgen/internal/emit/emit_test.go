package emit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

func TestGolden(t *testing.T) {
	dir := "testdata/design"
	s, ds := spec.Load("events.yaml", func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) })
	for _, d := range ds {
		t.Log(d)
	}
	if ds.HasErrors() {
		t.Fatal("the spec has errors")
	}
	files, err := Files(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
