package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// sample is a published payload and what the generated type makes of it.
type sample struct {
	Event   string          `json:"event"`
	Payload json.RawMessage `json:"payload"`
	Out     json.RawMessage `json:"out,omitempty"`
	Fault   string          `json:"fault,omitempty"`
}

// TestPublicContracts imports a whole public contract, builds what is
// generated for it, and sends the contract's published sample payloads through
// the generated types: every name that the contract has must come out, with its
// value. With OUTBOXGEN_SOAK=1 all that is generated is built and vetted.
func TestPublicContracts(t *testing.T) {
	for _, c := range []struct {
		name     string
		contract string
		samples  string
		read     func([]File, Options) (Result, error)
		valid    func(t *testing.T, contract []byte, samples []sample) []sample
		events   int
		report   map[Kind]int
	}{
		{
			"GitHub webhooks, JSON Schema", "github/schema.json.gz", "github/samples.jsonl.gz", JSONSchema, validBySchema, 224,
			map[Kind]int{Untyped: 37, Loosened: 111, Unattached: 14},
		},
		{
			"Slack RTM, AsyncAPI", "slack/asyncapi.yaml", "slack/samples.jsonl", AsyncAPI, validByMessage, 48,
			map[Kind]int{Unattached: 3},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, err := c.read([]File{{filepath.Base(c.contract), content(t, c.contract)}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if result.Events != c.events || fmt.Sprint(result.Report.Counts()) != fmt.Sprint(c.report) {
				t.Errorf("%d events, report %v", result.Events, result.Report.Counts())
			}
			s, diagnostics := spec.Load("events.yaml", func(string) ([]byte, error) { return result.Spec, nil })
			if len(diagnostics) > 0 {
				t.Fatalf("the imported spec: %s", diagnostics)
			}
			if testing.Short() {
				t.Skip("it compiles the generated package")
			}
			all := readSamples(t, c.samples)
			samples := c.valid(t, content(t, c.contract), all)
			published := len(samples)
			samples = append(samples, c.valid(t, content(t, c.contract), madeUp(t, c.contract, s, samples))...)
			if os.Getenv("OUTBOXGEN_SOAK") == "" {
				s, samples = firstEvents(s, samples, 25)
			}
			events := map[string]*spec.Event{}
			for _, e := range s.Events {
				events[e.Name] = e
			}
			covered := map[string]bool{}
			compared := comparison{}
			for i, got := range throughGeneratedTypes(t, s, samples) {
				in := samples[i]
				covered[in.Event] = true
				if got.Fault != "" {
					t.Errorf("%s: %s\n%.300s", in.Event, got.Fault, in.Payload)
					continue
				}
				compared.object(in.Event, events[in.Event].Fields, decode(t, in.Payload), decode(t, got.Out))
			}
			for i, f := range compared.faults {
				if i < 20 {
					t.Error(f)
				}
			}
			t.Logf("%d events, %d types; not carried over: %v", result.Events, result.Types, result.Report.Counts())
			t.Logf("%d of %d published samples keep the contract", published, len(all))
			t.Logf("%d samples of %d events: %d values came out; %d names in them are not in the contract", len(samples), len(covered), compared.values, compared.undeclared)
			if len(samples) == 0 || compared.values < 3*len(covered) {
				t.Errorf("%d samples, %d values", len(samples), compared.values)
			}
		})
	}
}

// validBySchema leaves out the samples that break the contract themselves:
// some were recorded before members were added that it now requires.
func validBySchema(t *testing.T, contract []byte, samples []sample) []sample {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(contract))
	if err != nil {
		t.Fatal(err)
	}
	return validBy(t, document, "/definitions/", samples)
}

// validByMessage is validBySchema for the payloads of an AsyncAPI document.
func validByMessage(t *testing.T, contract []byte, samples []sample) []sample {
	t.Helper()
	var document map[string]any
	if err := yaml.Unmarshal(contract, &document); err != nil {
		t.Fatal(err)
	}
	components := document["components"].(map[string]any)
	payloads := map[string]any{}
	for name, m := range components["messages"].(map[string]any) {
		payloads[name] = m.(map[string]any)["payload"]
	}
	return validBy(t, map[string]any{"$schema": "http://json-schema.org/draft-07/schema#", "payloads": payloads, "components": components}, "/payloads/", samples)
}

func validBy(t *testing.T, document any, prefix string, samples []sample) []sample {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	// The validator's own check refuses {/name}, which RFC 6570 has.
	compiler.RegisterFormat(&jsonschema.Format{Name: "uri-template", Validate: func(any) error { return nil }})
	if err := compiler.AddResource("contract.json", document); err != nil {
		t.Fatal(err)
	}
	var valid []sample
	for _, s := range samples {
		compiled, err := compiler.Compile("contract.json#" + prefix + url.PathEscape(s.Event))
		if err != nil {
			t.Fatal(err)
		}
		payload, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.Payload))
		if err != nil {
			t.Fatal(err)
		}
		if compiled.Validate(payload) == nil {
			valid = append(valid, s)
		}
	}
	return valid
}

func content(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(name, ".gz") {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return data
}

func readSamples(t *testing.T, name string) []sample {
	t.Helper()
	var out []sample
	lines := bufio.NewScanner(bytes.NewReader(content(t, name)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// throughGeneratedTypes builds the package of the spec in a module of its own
// and reads and writes every sample with it.
func throughGeneratedTypes(t *testing.T, s *spec.Spec, samples []sample) []sample {
	t.Helper()
	const module = "github.com/outboxgen/outboxgen"
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		write(name, data)
	}
	files, err := emit.Files(s)
	if err != nil {
		t.Fatal(err)
	}
	soak := os.Getenv("OUTBOXGEN_SOAK") != ""
	for _, f := range files {
		if soak || f.Name == "events.gen.go" { // the types are enough, and the rest takes its time
			write("events/"+f.Name, f.Content)
		}
	}
	var program bytes.Buffer
	if err := roundTripProgram.Execute(&program, s.Events); err != nil {
		t.Fatal(err)
	}
	write("main.go", program.Bytes())
	var in bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, s := range samples {
		if err := encoder.Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	run := func(stdin io.Reader, args ...string) []byte {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Stdin = dir, stdin
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("go %s: %v\n%.3000s", strings.Join(args, " "), err, stderr.String())
		}
		return stdout.Bytes()
	}
	run(nil, "mod", "edit", "-module=example.org/consumer", "-require="+module+"@v0.0.0", "-replace="+module+"="+root)
	if soak {
		run(nil, "vet", "./...")
	}
	var out []sample
	decoder := json.NewDecoder(bytes.NewReader(run(&in, "run", ".")))
	for decoder.More() {
		var s sample
		if err := decoder.Decode(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if len(out) != len(samples) {
		t.Fatalf("%d of %d samples came out", len(out), len(samples))
	}
	return out
}

var roundTripProgram = template.Must(template.New("main.go").Parse(`// Reads samples and writes what the generated types make of them.
package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"example.org/consumer/events"
)

type event interface {
	UnmarshalJSON([]byte) error
	AppendCanonical([]byte) ([]byte, error)
}

var types = map[string]func() event{
{{- range .}}
	{{printf "%q" .Name}}: func() event { return new(events.{{.GoName}}) },
{{- end}}
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var s struct {
			Event   string          ` + "`json:\"event\"`" + `
			Payload json.RawMessage ` + "`json:\"payload,omitempty\"`" + `
			Out     json.RawMessage ` + "`json:\"out,omitempty\"`" + `
			Fault   string          ` + "`json:\"fault,omitempty\"`" + `
		}
		if err := in.Decode(&s); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			panic(err)
		}
		e := types[s.Event]()
		err := e.UnmarshalJSON(s.Payload)
		if err == nil {
			s.Out, err = e.AppendCanonical(nil)
		}
		if err != nil {
			s.Out, s.Fault = nil, err.Error()
		}
		s.Payload = nil
		if err := out.Encode(s); err != nil {
			panic(err)
		}
	}
}
`))

// firstEvents is the part of a spec and of its samples that a quick test
// builds: some events, and the types that they need.
func firstEvents(s *spec.Spec, samples []sample, count int) (*spec.Spec, []sample) {
	part := *s
	part.Events, part.Types = nil, nil
	wanted := map[string]bool{}
	for i := 0; i < count; i++ {
		e := s.Events[i*len(s.Events)/count]
		part.Events = append(part.Events, e)
		wanted[e.Name] = true
	}
	needed := map[*spec.Type]bool{}
	var need func(fields []*spec.Field)
	need = func(fields []*spec.Field) {
		for _, f := range fields {
			t := f.Type
			for t.List != nil || t.Map != nil {
				if t.List != nil {
					t = t.List.Type
				} else {
					t = t.Map.Type
				}
			}
			if t.Named != nil && !needed[t.Named] {
				needed[t.Named] = true
				need(t.Named.Fields)
			}
		}
	}
	for _, e := range part.Events {
		need(e.Fields)
	}
	part.Types = slices.DeleteFunc(slices.Clone(s.Types), func(t *spec.Type) bool { return !needed[t] })
	return &part, slices.DeleteFunc(samples, func(s sample) bool { return !wanted[s.Event] })
}

// madeUp are payloads for the events of which no sample is published: every
// member of the contract's schema, with a value that it allows.
func madeUp(t *testing.T, contract string, s *spec.Spec, published []sample) []sample {
	t.Helper()
	root, err := parse(filepath.Base(contract), content(t, contract))
	if err != nil {
		t.Fatal(err)
	}
	c := &conversion{documents: documents{}}
	c.documents.add(root.file, root)
	var out []sample
	for _, e := range s.Events {
		if slices.ContainsFunc(published, func(p sample) bool { return p.Event == e.Name }) {
			continue
		}
		schema := root.get("definitions").get(e.Name)
		if schema == nil {
			schema = root.get("components").get("messages").get(e.Name).get("payload")
		}
		raw, err := json.Marshal(c.filled(schema, 0))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, sample{Event: e.Name, Payload: raw})
	}
	return out
}

// filled is a value that the schema allows.
func (c *conversion) filled(n *node, depth int) any {
	n, _, _ = c.documents.target(n)
	switch {
	case n.get("const") != nil:
		return n.get("const").text
	case n.get("enum") != nil:
		if first := n.get("enum").items[0]; first.is(text) {
			return first.text
		}
		return nil
	}
	members := map[string]any{}
	for _, part := range n.get("allOf").orEmpty().items {
		if m, ok := c.filled(part, depth).(map[string]any); ok {
			maps.Copy(members, m)
		}
	}
	if choices := alternatives(n); choices != nil {
		return c.filled(choices.items[0], depth)
	}
	types, nullable := c.typesOf(n)
	if len(types) == 0 {
		if nullable {
			return nil
		}
		return map[string]any{"any": []int{1}}
	}
	switch types[0] {
	case "string":
		switch n.get("format").string() {
		case "date-time":
			return "2026-01-31T12:30:00.5+01:00"
		case "uri":
			return "https://example.org/a?b=c"
		}
		return "Straße <1>"
	case "integer":
		return 7
	case "number":
		return 1.5
	case "boolean":
		return true
	case "array":
		if n.get("items") == nil || depth > 6 {
			return []any{}
		}
		return []any{c.filled(n.get("items"), depth+1)}
	}
	for _, m := range n.get("properties").orEmpty().members {
		needed := slices.ContainsFunc(n.get("required").orEmpty().items, func(r *node) bool { return r.text == m.name })
		if depth < 6 || needed {
			members[m.name] = c.filled(m.value, depth+1)
		}
	}
	if extra := n.get("additionalProperties"); extra.is(object) && len(members) == 0 {
		members["a key"] = c.filled(extra, depth+1)
	}
	return members
}

func decode(t *testing.T, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// comparison holds what came out to what went in.
type comparison struct {
	values     int // that came out
	undeclared int // names that the contract has not
	faults     []string
}

func (c *comparison) fault(path, format string, args ...any) {
	c.faults = append(c.faults, path+": "+fmt.Sprintf(format, args...))
}

func (c *comparison) object(path string, fields []*spec.Field, in, out any) {
	a, ok := in.(map[string]any)
	b, ok2 := out.(map[string]any)
	if !ok || !ok2 {
		c.fault(path, "went in as %T and came out as %T", in, out)
		return
	}
	declared := map[string]*spec.Field{}
	for _, f := range fields {
		declared[f.Name] = f
	}
	for name, value := range a {
		f := declared[name]
		if f == nil {
			c.undeclared++
			continue
		}
		got, ok := b[name]
		if !ok {
			c.fault(path+"."+name, "is lost: %.100v", value)
			continue
		}
		c.value(path+"."+name, f.Type, value, got)
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			c.fault(path+"."+name, "was not there")
		}
	}
}

func (c *comparison) value(path string, ref *spec.TypeRef, in, out any) {
	if in == nil || out == nil {
		if in != out {
			c.fault(path, "was %v and is %v", in, out)
		}
		c.values++
		return
	}
	switch {
	case ref.Named != nil && len(ref.Named.Enum) == 0:
		c.object(path, ref.Named.Fields, in, out)
		return
	case ref.List != nil:
		a, ok := in.([]any)
		b, ok2 := out.([]any)
		if !ok || !ok2 || len(a) != len(b) {
			c.fault(path, "was %.100v and is %.100v", in, out)
			return
		}
		for i := range a {
			c.value(fmt.Sprintf("%s[%d]", path, i), ref.List.Type, a[i], b[i])
		}
		return
	case ref.Map != nil:
		a, ok := in.(map[string]any)
		b, ok2 := out.(map[string]any)
		if !ok || !ok2 || len(a) != len(b) {
			c.fault(path, "was %.100v and is %.100v", in, out)
			return
		}
		for k := range a {
			c.value(path+"."+k, ref.Map.Type, a[k], b[k])
		}
		return
	}
	c.values++
	if !equal(ref.Scalar, in, out) {
		c.fault(path, "was %.100v and is %.100v", in, out)
	}
}

// equal compares two values as what they mean: numbers by value, and times as
// instants.
func equal(s spec.Scalar, in, out any) bool {
	if s == spec.Timestamp {
		a, errA := time.Parse(time.RFC3339Nano, in.(string))
		b, errB := time.Parse(time.RFC3339Nano, out.(string))
		return errA == nil && errB == nil && a.Equal(b)
	}
	switch a := in.(type) {
	case json.Number:
		b, ok := out.(json.Number)
		x, okX := new(big.Rat).SetString(a.String())
		y, okY := new(big.Rat).SetString(b.String())
		return ok && okX && okY && x.Cmp(y) == 0
	case []any:
		b, ok := out.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal("", a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := out.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k := range a {
			if !equal("", a[k], b[k]) {
				return false
			}
		}
		return true
	}
	return in == out
}
