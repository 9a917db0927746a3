package emittest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// Load reads events.yaml in a folder and fails the test when it has errors.
func Load(t testing.TB, folder string) *spec.Spec {
	t.Helper()
	return load(t, func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
	})
}

// LoadText reads a spec that is in one piece.
func LoadText(t testing.TB, text string) *spec.Spec {
	t.Helper()
	return load(t, func(string) ([]byte, error) { return []byte(text), nil })
}

func load(t testing.TB, read func(string) ([]byte, error)) *spec.Spec {
	t.Helper()
	s, diagnostics := spec.Load("events.yaml", read)
	if diagnostics.HasErrors() {
		for _, d := range diagnostics {
			t.Log(d)
		}
		t.Fatal("the spec has errors")
	}
	return s
}

// Files is what is generated for s.
func Files(t testing.TB, s *spec.Spec) []emit.File {
	t.Helper()
	files, err := emit.Files(s)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
