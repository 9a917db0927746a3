package generated_test

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/emittest"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// samples are canonical bodies of the event, as the generated type writes
// them.
func samples(t *testing.T, folder string, e *spec.Event, n uint64) [][]byte {
	t.Helper()
	i := indexOf(golden[folder], e.GoName)
	if i < 0 {
		t.Fatalf("%s.%s is not among the golden events", folder, e.GoName)
	}
	var bodies [][]byte
	for seed := range n {
		sample := emittest.NewSampler(seed)
		sample.Full = seed == 0
		v := blank(golden[folder][i])
		if err := v.UnmarshalJSON(sample.Text(e.Fields)); err != nil {
			t.Fatal(err)
		}
		body, err := v.AppendCanonical(nil)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

var withContracts = []string{"design", "everything", "names", "texts"}

// TestJSONSchema_TakesWhatTheTypesWrite, and refuses what they would not.
func TestJSONSchema_TakesWhatTheTypesWrite(t *testing.T) {
	for _, folder := range withContracts {
		s := emittest.Load(t, "../testdata/"+folder)
		documents := map[string][]byte{}
		for _, f := range emittest.Files(t, s) {
			documents[f.Name] = f.Content
		}
		for _, e := range s.Events {
			document := documents[path.Join(s.Outputs.JSONSchema, e.FileName+".schema.json")]
			schema := emittest.Compile(t, emittest.ParseJSON(t, document), jsonschema.Draft2020, "")
			for i, body := range samples(t, folder, e, 30) {
				if err := schema.Validate(emittest.ParseJSON(t, body)); err != nil {
					t.Fatalf("%s refuses %s: %v", e.Name, body, err)
				}
				if i > 2 {
					continue
				}
				for _, broken := range breakings(t, body, e) {
					if schema.Validate(emittest.ParseJSON(t, broken)) == nil {
						t.Errorf("%s takes %s", e.Name, broken)
					}
				}
			}
		}
	}
}

// breakings are variations of a body that its type refuses: a required member
// left out, and members of another kind.
func breakings(t *testing.T, body []byte, e *spec.Event) [][]byte {
	t.Helper()
	var broken [][]byte
	vary := func(change func(map[string]any)) {
		var tree map[string]any
		if err := json.Unmarshal(body, &tree); err != nil {
			t.Fatal(err)
		}
		change(tree)
		raw, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		broken = append(broken, raw)
	}
	for _, f := range e.Fields {
		if f.Type.Scalar == spec.JSON {
			continue
		}
		if !f.Optional {
			vary(func(tree map[string]any) { delete(tree, f.Name) })
		}
		if !f.Nullable {
			vary(func(tree map[string]any) { tree[f.Name] = nil })
		}
		wrong := any([]any{[]any{true}})
		if f.Type.List != nil {
			wrong = true
		}
		vary(func(tree map[string]any) { tree[f.Name] = wrong })
	}
	return broken
}

func TestJSONSchema_SaysTheRules(t *testing.T) {
	s := emittest.Load(t, "../testdata/everything")
	for _, e := range s.Events {
		if e.GoName != "RulesKept" {
			continue
		}
		var document []byte
		for _, f := range emittest.Files(t, s) {
			if strings.HasSuffix(f.Name, "/rules.kept.schema.json") {
				document = f.Content
			}
		}
		schema := emittest.Compile(t, emittest.ParseJSON(t, document), jsonschema.Draft2020, "")
		body := samples(t, "everything", e, 1)[0]
		for name, wrong := range map[string]any{
			"text": "é", "optional_text": "abcd", "email": "a", "uri": "/a", "hostname": "-", "ipv4": "1", "ipv6": "1", "int_range": -4,
			"float_range": 1000.5, "bytes_length": "", "list_size": []any{}, "map_size": map[string]any{"a": "1", "b": "2", "c": "3"},
			"nested": []any{[]any{10}},
		} {
			tree := emittest.ParseJSON(t, body).(map[string]any)
			tree[name] = wrong
			raw, _ := json.Marshal(tree)
			if schema.Validate(emittest.ParseJSON(t, raw)) == nil {
				t.Errorf("%s: %v is taken", name, wrong)
			}
		}
		tree := emittest.ParseJSON(t, body).(map[string]any)
		if err := schema.Validate(tree); err != nil {
			t.Error(err)
		}
	}
}

func TestAsyncAPI_IsValidAndTakesWhatTheTypesWrite(t *testing.T) {
	official := emittest.AsyncAPISchema(t, "../testdata/asyncapi/3.0.0.json.gz")
	for _, folder := range withContracts {
		s := emittest.Load(t, "../testdata/"+folder)
		document := emittest.AsyncAPI(t, s)
		if err := official.Validate(document); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
		for pointer := range references(document) {
			if _, ok := lookUp(document, pointer); !ok {
				t.Errorf("%s: %s leads nowhere", folder, pointer)
			}
		}
		messages, _ := lookUp(document, "#/components/messages")
		for _, e := range s.Events {
			if _, ok := messages.(map[string]any)[e.GoName]; !ok {
				continue // stays inside
			}
			payload := emittest.Compile(t, document, jsonschema.Draft7, "#/components/messages/"+e.GoName+"/payload")
			for _, body := range samples(t, folder, e, 10) {
				if err := payload.Validate(emittest.ParseJSON(t, body)); err != nil {
					t.Errorf("%s refuses %s: %v", e.Name, body, err)
				}
			}
		}
	}
}

// references are the targets of all $ref in a document.
func references(tree any) map[string]bool {
	found := map[string]bool{}
	var walk func(any)
	walk = func(tree any) {
		switch v := tree.(type) {
		case map[string]any:
			if to, ok := v["$ref"].(string); ok {
				found[to] = true
			}
			for _, member := range v {
				walk(member)
			}
		case []any:
			for _, element := range v {
				walk(element)
			}
		}
	}
	walk(tree)
	return found
}

func lookUp(tree any, pointer string) (any, bool) {
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "#/"), "/") {
		o, ok := tree.(map[string]any)
		if !ok {
			return nil, false
		}
		if tree, ok = o[step]; !ok {
			return nil, false
		}
	}
	return tree, true
}

// TestMarkdown_RowsAreWhole: no text breaks out of a table.
func TestMarkdown_RowsAreWhole(t *testing.T) {
	for _, folder := range withContracts {
		s := emittest.Load(t, "../testdata/"+folder)
		for _, f := range emittest.Files(t, s) {
			if f.Name != s.Outputs.Markdown {
				continue
			}
			columns := 0
			for i, line := range strings.Split(string(f.Content), "\n") {
				n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
				if !strings.HasPrefix(line, "|") {
					columns = 0
					continue
				}
				if columns != 0 && n != columns {
					t.Errorf("%s: line %d has %d bars where the table has %d: %s", folder, i+1, n, columns, line)
				}
				columns = n
			}
			for _, e := range s.Events {
				if !strings.Contains(string(f.Content), fmt.Sprintf("\n## %s, version %d\n", e.Name, e.Version)) {
					t.Errorf("%s: %s is not described", folder, e.Name)
				}
			}
			for _, link := range regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(string(f.Content), -1) {
				if link[1] == "" {
					t.Errorf("%s: an empty link", folder)
				}
			}
		}
	}
}
