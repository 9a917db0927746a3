package emit_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/emittest"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestContracts_KeepAnyText: whatever the texts of a spec say, the documents
// stay valid.
func TestContracts_KeepAnyText(t *testing.T) {
	official := emittest.AsyncAPISchema(t, "testdata/asyncapi/3.0.0.json.gz")
	for _, text := range emittest.Evil {
		s := emittest.LoadText(t, strings.Replace(emittest.Harmless, "events:", "outputs: {json_schema: schemas, asyncapi: asyncapi.yaml, markdown: events.md}\nevents:", 1))
		if !strings.Contains(text, "\xff") {
			emittest.Saying(s, text)
		}
		if err := official.Validate(emittest.AsyncAPI(t, s)); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
		for _, f := range emittest.Files(t, s) {
			switch {
			case strings.HasSuffix(f.Name, ".json"):
				emittest.Compile(t, emittest.ParseJSON(t, f.Content), jsonschema.Draft2020, "")
			case strings.HasSuffix(f.Name, ".md"):
				page := regexp.MustCompile("`+[^`]*`+").ReplaceAllString(string(f.Content), "")
				if strings.Contains(page, "<script") || strings.Count(page, "\n# ") < 2 {
					t.Errorf("%.40q:\n%s", text, page)
				}
			}
			if !strings.Contains(string(f.Content[:min(len(f.Content), 200)]), strings.TrimPrefix(emit.Header, "// ")) {
				t.Errorf("%s does not say that it is generated", f.Name)
			}
		}
	}
}
