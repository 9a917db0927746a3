package spec

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

const schemaFile = "events.schema.json"

func TestJSONSchema_IsCommitted(t *testing.T) {
	if *update {
		if err := os.WriteFile(schemaFile, JSONSchema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(schemaFile)
	if err != nil || !bytes.Equal(committed, JSONSchema()) {
		t.Errorf("%s is not what JSONSchema says: run go test with -update (%v)", schemaFile, err)
	}
}

// seenBySchema says what the schema knows of a rule: always, it refuses
// whatever breaks the rule; sometimes; a rule that is not here, never.
var seenBySchema = map[string]string{
	ruleUnknownKey: "always", ruleMissingKey: "always", ruleMissingValue: "always", ruleWrongShape: "always", ruleBadWord: "always",
	ruleBadNumber: "always", ruleBadBoolean: "always", ruleMissingIdempotency: "always",
	ruleBadPackage: "always", ruleBadDestinationName: "always", ruleBadTypeName: "always", ruleBadEventName: "always",
	ruleBadFieldName: "always", ruleBadGoName: "always", ruleBadGoType: "always", ruleNotForKind: "always",
	ruleBadType: "always", ruleTypeAndEnum: "always", ruleNullableJSON: "always", ruleNullInEnum: "always", ruleNotForType: "always",

	ruleBadVersion:    "sometimes", // two events are more than one place
	ruleBadSource:     "sometimes", // visible ASCII that is no URI reference
	ruleBadDuration:   "sometimes", // more than a hundred years
	ruleTwice:         "sometimes", // headers in two spellings
	ruleLiteralSecret: "sometimes", // in URLs and headers
	ruleBadHeader:     "sometimes", // reserved names, and values
	ruleUnknownType:   "sometimes", // what cannot be a name
	ruleIncludeTwice:  "sometimes", // in two spellings
	ruleBadExample:    "sometimes", // an example that is no mapping
}

func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaFile, document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// asJSON is a YAML document as an editor sees it. Numbers that only YAML
// spells so (0755, 0x1F, 1_000, .inf) are texts.
func asJSON(n *yaml.Node) any {
	switch n.Kind {
	case yaml.DocumentNode:
		return asJSON(n.Content[0])
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = asJSON(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			list[i] = asJSON(c)
		}
		return list
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return n.Value == "true"
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) && !strings.ContainsAny(n.Value, "eE") {
			return json.Number(n.Value)
		}
	}
	return n.Value
}

// agree holds the schema's verdict on one file to that of Load.
func agree(t *testing.T, compiled *jsonschema.Schema, about, file string, document *yaml.Node, diagnostics Diagnostics) {
	t.Helper()
	refusal := compiled.Validate(asJSON(document))
	var always, sometimes bool
	for _, d := range diagnostics {
		if d.Severity == Error && d.Pos.File == file {
			always = always || seenBySchema[d.Rule] == "always"
			sometimes = sometimes || seenBySchema[d.Rule] == "sometimes"
		}
	}
	switch {
	case always && refusal == nil:
		t.Errorf("%s: the schema accepts what Load refuses:\n%s", about, diagnostics)
	case !always && !sometimes && refusal != nil:
		t.Errorf("%s: the schema refuses what Load accepts, or refuses for what no schema sees: %v\n%s", about, refusal, diagnostics)
	}
}

func TestJSONSchema_AgreesOnFixtures(t *testing.T) {
	compiled := compileSchema(t)
	compared := 0
	for _, f := range fixtures(t) {
		_, diagnostics := f.load()
		for _, file := range f.archive.Files {
			var document yaml.Node
			if file.Name == "want" || yaml.Unmarshal(file.Data, &document) != nil || len(document.Content) == 0 || beyondJSON(&document) {
				continue
			}
			compared++
			agree(t, compiled, f.path+" "+file.Name, file.Name, &document, diagnostics)
		}
	}
	if compared < 100 {
		t.Errorf("only %d files compared", compared)
	}
}

// beyondJSON reports aliases, merge keys, tags, doubled keys and keys that are
// no texts, which an editor's YAML reader resolves before the schema is asked.
func beyondJSON(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return true
	}
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if c.Kind != yaml.ScalarNode || c.ShortTag() == "!!merge" || seen[c.Value] {
				return true
			}
			seen[c.Value] = true
		}
		if beyondJSON(c) {
			return true
		}
	}
	return false
}

// ownNames are the parts of a path that a spec chooses itself.
var ownNames = regexp.MustCompile(`/(destinations|types|events|fields|headers)/[^/]*`)

// Every place of a spec that uses every key takes every value of a pool: Load
// and the schema must agree each time.
func TestJSONSchema_AgreesOnEveryKey(t *testing.T) {
	compiled := compileSchema(t)
	text, err := os.ReadFile("testdata/whole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if s, diagnostics := loadText(string(text)); s == nil {
		t.Fatal(diagnostics)
	}
	var whole yaml.Node
	if err := yaml.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	var pool []*yaml.Node
	for _, value := range []string{`~`, `""`, `" "`, `x`, `"x y"`, `X`, `1`, `0`, `-1`, `1.5`, `"5"`, `true`, `"true"`, `10s`, `0s`, `off`, `string`, `"string?"`, `json`, `int`, `Node`,
		`${VAR}`, `[]`, `[x]`, `[string]`, `[x, x]`, `[1]`, `[~]`, `[[]]`, `[string, int]`, `{}`, `{string: int}`, `{x: y}`, `{type: string}`, `{enum: [a]}`, `{fields: {}}`, `{value: a}`, `event`, `payload`, `https://h/`, `example.org/a.B`} {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(value), &n); err != nil {
			t.Fatal(err)
		}
		pool = append(pool, n.Content[0])
	}
	mutations := 0
	try := func(about string) {
		t.Helper()
		mutations++
		mutated, err := yaml.Marshal(&whole)
		if err != nil {
			t.Fatal(err)
		}
		var document yaml.Node
		if err := yaml.Unmarshal(mutated, &document); err != nil {
			t.Fatalf("%s: %v", about, err)
		}
		if beyondJSON(&document) {
			return
		}
		_, diagnostics := Load("events.yaml", func(name string) ([]byte, error) {
			if name == "events.yaml" {
				return mutated, nil
			}
			return nil, fs.ErrNotExist
		})
		agree(t, compiled, about, "events.yaml", &document, diagnostics)
	}
	visited := map[string]int{}
	isNew := func(path string) bool { // not a place like others before
		kind := ownNames.ReplaceAllString(path, "/$1/*")
		visited[kind]++
		return visited[kind] <= 2
	}
	var visit func(n *yaml.Node, path string)
	visit = func(n *yaml.Node, path string) {
		if strings.HasSuffix(path, "/examples") {
			return // data, not language
		}
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 {
				if !isNew(path + "/" + child.Value + " called") {
					continue
				}
				key := *child
				for _, name := range []string{"surprise", "", "1x", "a b", "string", "@"} {
					child.Value, child.Style, child.Tag = name, yaml.DoubleQuotedStyle, "!!str"
					try(path + "/" + key.Value + " called " + name)
				}
				*child = key
				continue
			}
			name := ""
			if n.Kind == yaml.MappingNode {
				name = n.Content[i-1].Value
			}
			if !isNew(path + "/" + name) {
				continue
			}
			for _, value := range pool {
				n.Content[i] = value
				shown, _ := yaml.Marshal(value)
				try(path + "/" + name + " = " + string(bytes.TrimSpace(shown)))
			}
			n.Content[i] = child
			visit(child, path+"/"+name)
		}
		for i := 0; i < len(n.Content); i++ {
			if (n.Kind != yaml.MappingNode || i%2 == 0) && isNew(path+"/"+n.Content[i].Value+" without") {
				without := *n
				size := 1
				if n.Kind == yaml.MappingNode {
					size = 2
				}
				kept := n.Content
				n.Content = slices.Concat(kept[:i], kept[i+size:])
				try(path + " without " + kept[i].Value)
				*n = without
			}
		}
	}
	visit(whole.Content[0], "")
	if mutations < 2000 {
		t.Errorf("only %d mutations", mutations)
	}
}

// The spec that uses every key does.
func TestWhole_UsesEveryKey(t *testing.T) {
	text, err := os.ReadFile("testdata/whole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects() {
		for _, k := range o.keys {
			if !strings.Contains(string(text), k.name+":") && k.name != "include" {
				t.Errorf("testdata/whole.yaml has no %s", k.name)
			}
		}
	}
}
