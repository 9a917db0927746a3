package importer

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what comes into the cases")

// testdata/cases/KIND_name.txtar holds contracts, the spec that is made of them
// and the report of what is lost.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var files []File
			for _, f := range archive.Files {
				if !strings.HasPrefix(f.Name, "want.") {
					files = append(files, File{f.Name, f.Data})
				}
			}
			read := JSONSchema
			if strings.HasPrefix(name, "asyncapi") {
				read = AsyncAPI
			}
			result, err := read(files, Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := archive.Files[len(archive.Files)-2:]
			if *update {
				want[0].Data, want[1].Data = result.Spec, []byte(result.Report.String())
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if string(result.Spec) != string(want[0].Data) {
				t.Errorf("spec:\n%s", result.Spec)
			}
			if result.Report.String() != string(want[1].Data) {
				t.Errorf("report:\n%s", result.Report)
			}
			again, err := read(files, Options{})
			if err != nil || string(again.Spec) != string(result.Spec) {
				t.Errorf("a second import differs: %v", err)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
	}{
		"no events":      {`{"type": "string"}`, "no event was found in the contract"},
		"not an object":  {`[]`, "a.json: the document is no object"},
		"no document":    {"{\n", "a.json: neither JSON nor YAML: yaml: line 1: did not find expected node content"},
		"empty":          {"", "a.json: neither JSON nor YAML: the document is empty"},
		"nested too far": {strings.Repeat("[", 1000) + strings.Repeat("]", 1000), "a.json: the document is nested too deep or too large"},
	} {
		_, err := JSONSchema([]File{{"a.json", []byte(c.text)}}, Options{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := JSONSchema([]File{{"a.json", []byte(`{"type": "object"}`)}}, Options{Package: "my-events", Source: "the shop"})
	if want := "package \"my-events\" cannot be the name of a Go package\nsource \"the shop\" is not a URI reference in visible ASCII"; err == nil || err.Error() != want {
		t.Errorf("options: %v", err)
	}
	if _, err := AsyncAPI(nil, Options{}); err == nil || err.Error() != "no file to import" {
		t.Errorf("no file: %v", err)
	}
}

// Whatever the contract, an import ends in an error or in a spec that loads.
func FuzzImport(f *testing.F) {
	paths, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
	f.Add("a: &a [*a]\nb: {<<: *a}")
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func([]File, Options) (Result, error){JSONSchema, AsyncAPI} {
			result, err := read([]File{{"contract.json", []byte(text)}}, Options{})
			if err != nil {
				if strings.Contains(err.Error(), "a fault of the importer") {
					t.Fatal(err)
				}
				continue
			}
			if s, diagnostics := spec.Load("events.yaml", func(string) ([]byte, error) { return result.Spec, nil }); s == nil || len(s.Events) != result.Events {
				t.Fatalf("%s\n%s", result.Spec, diagnostics)
			}
		}
	})
}
