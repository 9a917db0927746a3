package spec

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/spec.md lists every key and every rule as they are.
func TestDocs_ListEveryKeyAndRule(t *testing.T) {
	const path = "../../../../docs/spec.md"
	docs, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := string(docs)
	for _, o := range objects() {
		if o == &elementObject {
			continue // the keys of a field, from type on
		}
		want = between(t, want, "<!-- keys: "+o.name+" -->\n", "<!-- /keys -->\n", keyTable(o))
	}
	want = between(t, want, "<!-- rules -->\n", "<!-- /rules -->\n", ruleTable())
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(docs) != want {
		t.Errorf("%s does not list the keys and rules as they are: run go test with -update", path)
	}
}

func between(t *testing.T, text, open, end, inside string) string {
	t.Helper()
	before, rest, found := strings.Cut(text, open)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("the docs have no place for %s", open)
	}
	return before + open + inside + end + after
}

func keyTable(o *object) string {
	var b strings.Builder
	b.WriteString("| key | | |\n|---|---|---|\n")
	for _, k := range o.keys {
		needed := ""
		if k.required {
			needed = "needed"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.name, needed, k.doc)
	}
	return b.String()
}

func ruleTable() string {
	var b strings.Builder
	b.WriteString("| rule | | |\n|---|---|---|\n")
	for _, r := range DiagnosticRules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, r.Severity, r.Doc)
	}
	return b.String()
}
