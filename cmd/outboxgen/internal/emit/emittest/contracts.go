package emittest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// ParseJSON reads a document or a value for [Compile] and its schemas.
func ParseJSON(t testing.TB, raw []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return v
}

// Compile makes a schema of document, or of the part of it that pointer
// leads to.
func Compile(t testing.TB, document any, draft *jsonschema.Draft, pointer string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(draft)
	c.AssertFormat()
	c.AssertContent()
	if err := c.AddResource("https://example.org/document", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://example.org/document" + pointer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// AsyncAPISchema is AsyncAPI's own JSON Schema of version 3.0.0, from the file
// of testdata.
func AsyncAPISchema(t testing.TB, path string) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return Compile(t, ParseJSON(t, raw), jsonschema.Draft7, "")
}

// AsyncAPI is the AsyncAPI document that is generated for s.
func AsyncAPI(t testing.TB, s *spec.Spec) any {
	t.Helper()
	for _, f := range Files(t, s) {
		if f.Name != s.Outputs.AsyncAPI {
			continue
		}
		if strings.HasSuffix(f.Name, ".json") {
			return ParseJSON(t, f.Content)
		}
		var tree any
		if err := yaml.Unmarshal(f.Content, &tree); err != nil {
			t.Fatalf("%v\n%s", err, f.Content)
		}
		raw, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		return ParseJSON(t, raw)
	}
	t.Fatal("there is no AsyncAPI document")
	return nil
}
