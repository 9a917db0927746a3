package spec

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// One run names every mistake, in order, each with its place.
func TestLoad_TenMistakes(t *testing.T) {
	s, diagnostics := Load("testdata/ten.yaml", os.ReadFile)
	if s != nil {
		t.Fatal("a spec with ten mistakes was accepted")
	}
	want := []string{
		"testdata/ten.yaml:2:10: bad-package",
		"testdata/ten.yaml:6:18: bad-word",
		"testdata/ten.yaml:10:15: literal-secret",
		"testdata/ten.yaml:11:14: bad-duration",
		"testdata/ten.yaml:15:12: unknown-type",
		"testdata/ten.yaml:18:3: missing-idempotency",
		"testdata/ten.yaml:19:17: unknown-destination",
		"testdata/ten.yaml:20:5: unknown-key",
		"testdata/ten.yaml:24:7: duplicate-key",
		"testdata/ten.yaml:25:35: bad-bound",
	}
	var got []string
	for _, d := range diagnostics {
		got = append(got, fmt.Sprintf("%s: %s", d.Pos, d.Rule))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), diagnostics)
	}
}

func TestDiagnosticRules_EachHasAFixture(t *testing.T) {
	shown := map[string]Severity{}
	note := func(ds Diagnostics) {
		for _, d := range ds {
			shown[d.Rule] = d.Severity
		}
	}
	for _, f := range fixtures(t) {
		_, diagnostics := f.load()
		note(diagnostics)
	}
	_, diagnostics := loadText(strings.Repeat("#", maxFileSize+1))
	note(diagnostics)
	known := map[string]Severity{}
	for _, r := range DiagnosticRules() {
		if known[r.Name] != 0 || r.Doc == "" {
			t.Errorf("rule %s stands twice or has no doc", r.Name)
		}
		known[r.Name] = r.Severity
	}
	if !maps.Equal(shown, known) {
		t.Errorf("shown by fixtures: %v\nregistered: %v", shown, known)
	}
}

func TestLoad_Unreadable(t *testing.T) {
	_, diagnostics := Load("events.yaml", func(string) ([]byte, error) { return nil, fs.ErrPermission })
	if got, want := diagnostics.String(), "events.yaml:1:1: cannot read \"events.yaml\": permission denied\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Deep nesting of every kind ends in an answer: cases G-11 and G-13.
func TestLoad_Deep(t *testing.T) {
	const levels = 200
	var chain strings.Builder
	for i := range levels {
		fmt.Fprintf(&chain, "  T%d: {fields: {next: T%d}}\n", i, (i+1)%(levels+1))
	}
	named := strings.Replace(specOf("{top: T0}"), "events:\n", "types:\n"+chain.String(), 1)
	ended := strings.Replace(named, "  order.created", fmt.Sprintf("  T%d: {fields: {}}\nevents:\n  order.created", levels), 1)
	if s := mustLoad(t, ended); len(s.Types) != levels+1 {
		t.Errorf("%d types", len(s.Types))
	}
	cyclic := strings.Replace(named, "  order.created", fmt.Sprintf("  T%d: {fields: {next: T0}}\nevents:\n  order.created", levels), 1)
	for text, rule := range map[string]string{
		cyclic: ruleCycle,
		specOf("{deep: " + strings.Repeat("[", levels) + "int" + strings.Repeat("]", levels) + "}"):             ruleTooDeep,
		specOf("{deep: " + strings.Repeat("{string: ", levels) + "int" + strings.Repeat("}", levels) + "}"):     ruleTooDeep,
		specOf("{deep: " + strings.Repeat("[{type: ", levels) + "int" + strings.Repeat("}]", levels) + "}"):     ruleTooDeep,
		specOf("{deep: " + strings.Repeat("[", 20_000) + "int" + strings.Repeat("]", 20_000) + "}"):             ruleSyntax,
		specOf("{deep: {enum: " + strings.Repeat("[", levels) + "int" + strings.Repeat("]", levels) + "}}"):     ruleWrongShape,
		specOf("{deep: {type: " + strings.Repeat("{type: ", levels) + "a" + strings.Repeat("}", levels) + "}}"): ruleBadType,
	} {
		s, diagnostics := loadText(text)
		if s != nil || len(diagnostics) == 0 || diagnostics[0].Rule != rule {
			t.Errorf("want %s, got %s", rule, diagnostics)
		}
		for _, d := range diagnostics {
			if len(d.Message) > 5000 {
				t.Errorf("%s: a message of %d bytes", d.Rule, len(d.Message))
			}
		}
	}
}

// However long a text is, and however many faults there are, a message stays
// short and the answer comes.
func TestLoad_LongTextsAndManyFaults(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, text := range []string{specOf("{" + long + ": int}"), specOf("{a: " + long + "}"), specOf("{a: {enum: [a], " + long + ": b}}"), specOf("{a: {type: int, min: " + long + "}}")} {
		_, diagnostics := loadText(text)
		if len(diagnostics) == 0 {
			t.Error("no diagnostic")
		}
		for _, d := range diagnostics {
			if len(d.String()) > 5000 {
				t.Errorf("%s: %d bytes", d.Rule, len(d.String()))
			}
		}
	}
	var fields strings.Builder
	const many = 5000
	for i := range many {
		fmt.Fprintf(&fields, "f%d: type%d, ", i, i)
	}
	if _, diagnostics := loadText(specOf("{" + fields.String() + "}")); len(diagnostics) != many {
		t.Errorf("%d diagnostics", len(diagnostics))
	}
}

func TestLoad_RecursionThroughListsAndOptionals(t *testing.T) {
	mustLoad(t, `
version: 1
package: events
source: /shop
types:
  Node: {fields: {children: [Node], parent: "Node?", peer: {type: Node, nullable: true}, both: {type: Node, optional: true, nullable: true}, named: {string: Node}}}
  A: {fields: {b: B}}
  B: {fields: {as: [A]}}
events:
  tree.grown: {to: [], idempotency: event, fields: {root: Node, a: A}}
`)
}

// Case G-11: texts are taken as they are written.
func TestLoad_TextsAsWritten(t *testing.T) {
	values := []string{"NO", "on", "off", "y", "+1", "-1", "1.10", "0755", "1e3", "2026-01-02", "true", "123456789123456789123", "0x1F", ".inf", "1_000"}
	s := mustLoad(t, specOf("{code: {enum: ["+strings.Join(values, ", ")+"]}}"))
	for i, v := range s.Events[0].Fields[0].Type.Enum.Values {
		if v.Value != values[i] {
			t.Errorf("value %q, want %q", v.Value, values[i])
		}
	}
	s = mustLoad(t, specOf(`{amount: {type: decimal, min: 0.10, max: 1000000000000000000000.00}, doc: {type: string, doc: 0755}}`))
	if got := *s.Events[0].Fields[0].Rules.Min; got != "0.10" {
		t.Errorf("min: %q", got)
	}
	if got := s.Events[0].Fields[1].Doc; got != "0755" {
		t.Errorf("doc: %q", got)
	}
}

func FuzzLoad(f *testing.F) {
	for _, fixture := range fixtures(f) {
		for _, file := range fixture.archive.Files {
			if file.Name == "events.yaml" {
				f.Add(string(file.Data))
			}
		}
	}
	for _, name := range []string{"testdata/ten.yaml", "testdata/design/events.yaml", "testdata/whole.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	known := map[string]bool{}
	for _, r := range DiagnosticRules() {
		known[r.Name] = true
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, diagnostics := Load("events.yaml", func(name string) ([]byte, error) {
			if name == "events.yaml" {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		})
		if (s == nil) != diagnostics.HasErrors() {
			t.Fatalf("spec %v beside errors %v", s != nil, diagnostics.HasErrors())
		}
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u0085") + strings.Count(text, "\u2028") + strings.Count(text, "\u2029") + 1
		for _, d := range diagnostics {
			if !known[d.Rule] || strings.ContainsAny(d.String(), "\n\r") || d.Pos.Line < 1 || d.Pos.Line > lines || d.Pos.Col < 1 {
				t.Fatalf("%q [%s]", d.String(), d.Rule)
			}
		}
		if s != nil {
			checkModel(t, s)
		}
	})
}

// checkModel holds a spec to what its model promises to emitters.
func checkModel(t *testing.T, s *Spec) {
	t.Helper()
	if s.Package == "" || s.Source == "" || len(s.Events) == 0 || s.Retention <= 0 {
		t.Fatalf("header: %+v", s)
	}
	fields := func(fs []*Field) {
		for _, f := range fs {
			if f.Name == "" || checkGoName(f.GoName) != nil || f.Type == nil {
				t.Fatalf("field: %+v", f)
			}
			for ref := f.Type; ref != nil; {
				set := 0
				for _, is := range []bool{ref.Scalar != "", ref.Named != nil, ref.Enum != nil, ref.List != nil, ref.Map != nil} {
					if is {
						set++
					}
				}
				if set != 1 {
					t.Fatalf("type of field %q: %+v", f.Name, ref)
				}
				switch {
				case ref.List != nil:
					ref = ref.List.Type
				case ref.Map != nil:
					ref = ref.Map.Type
				default:
					ref = nil
				}
			}
		}
	}
	for _, d := range s.Destinations {
		if (d.Kind == Webhook) != (d.Webhook != nil) || d.Timeout <= 0 || d.MaxInFlight <= 0 || d.Retry.MaxAttempts <= 0 {
			t.Fatalf("destination: %+v", d)
		}
	}
	for _, n := range s.Types {
		if (len(n.Enum) > 0) == (n.Fields != nil) {
			t.Fatalf("type: %+v", n)
		}
		fields(n.Fields)
	}
	for _, e := range s.Events {
		if checkGoName(e.GoName) != nil || e.Version < 1 || e.Idempotency.Mode == "" || e.FileName == "" {
			t.Fatalf("event: %+v", e)
		}
		fields(e.Fields)
	}
}
