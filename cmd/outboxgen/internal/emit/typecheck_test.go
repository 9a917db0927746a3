package emit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/emittest"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"pgregory.net/rapid"
)

// imports are what generated code may import, as the compiler knows it.
var imports = sync.OnceValues(func() (types.Importer, error) {
	const module = "github.com/outboxgen/outboxgen/"
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "math/big", "net/netip"}
	for _, p := range []string{"outbox", "payload", "payload/decimaltext", "canonical", "breaker", "webhook", "inbox"} {
		args = append(args, module+"runtime/"+p)
	}
	args = append(args, module+"cmd/outboxgen/internal/emit/testdata/own/ship")
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		file, ok := exports[path]
		if !ok {
			return nil, fmt.Errorf("%s: %w", path, errUnknownPackage)
		}
		return os.Open(file)
	}), nil
})

// loadImports takes longer than the fuzzer lets one input take.
func loadImports(f *testing.F) {
	if _, err := imports(); err != nil {
		f.Fatal(err)
	}
}

var errUnknownPackage = errors.New("not among the packages of this test")

// importing guards the importer, which keeps what it has read and is not safe
// for concurrent use.
var importing sync.Mutex

// typeCheck compiles the Go files as far as types go, and holds them to
// gofmt's form.
func typeCheck(t testing.TB, fs []emit.File) error {
	t.Helper()
	imp, err := imports()
	if err != nil {
		t.Fatal(err)
	}
	importing.Lock()
	defer importing.Unlock()
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, f := range fs {
		if !strings.HasSuffix(f.Name, ".go") {
			continue
		}
		file, err := parser.ParseFile(fset, f.Name, f.Content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
		if again, err := format.Source(f.Content); err != nil || !bytes.Equal(again, f.Content) {
			return fmt.Errorf("gofmt would change %s", f.Name)
		}
	}
	config := types.Config{Importer: imp, GoVersion: "go1.26"}
	_, err = config.Check("example.org/events", fset, parsed, nil)
	return err
}

// checkSpec generates for a spec, if it is one, and type-checks what comes out.
func checkSpec(t testing.TB, text []byte) (accepted bool) {
	t.Helper()
	read := func(name string) ([]byte, error) {
		if name != "events.yaml" {
			return nil, os.ErrNotExist
		}
		return text, nil
	}
	s, diagnostics := spec.Load("events.yaml", read)
	if diagnostics.HasErrors() {
		return false
	}
	out, err := emit.Files(s)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, f := range out {
		if strings.HasSuffix(f.Name, ".schema.json") && !json.Valid(f.Content) {
			t.Fatalf("%s is not JSON: %s\n%s", f.Name, f.Content, text)
		}
	}
	if err := typeCheck(t, out); err != nil && !strings.Contains(err.Error(), errUnknownPackage.Error()) {
		source := ""
		if where, ok := errors.AsType[types.Error](err); ok {
			name := where.Fset.Position(where.Pos).Filename
			for _, f := range out {
				if f.Name == name {
					source = string(f.Content)
				}
			}
		}
		t.Fatalf("%v\n%s\n%s", err, text, source)
	}
	return true
}

func TestTypeCheck_GoldenPackages(t *testing.T) {
	for _, folder := range []string{"design", "everything", "names", "texts"} {
		if err := typeCheck(t, emittest.Files(t, emittest.Load(t, "testdata/"+folder))); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
	}
	// The check itself finds what is wrong.
	wrong := emit.File{Name: "x.go", Content: []byte("package x\n\nimport \"fmt\"\n")}
	if err := typeCheck(t, []emit.File{wrong}); err == nil {
		t.Error("an unused import is taken")
	}
}

func TestTypeCheck_DeepNesting(t *testing.T) {
	deep := "int"
	for range 90 {
		deep = "[" + deep + "]"
	}
	s := emittest.LoadText(t, "version: 1\npackage: events\nsource: /deep\ndefaults: {idempotency: event, to: []}\nevents:\n  told: {fields: {deep: "+deep+"}}\n")
	if err := typeCheck(t, emittest.Files(t, s)); err != nil {
		t.Error(err)
	}
}

// FuzzText_TypeChecks feeds texts that may be specs.
func FuzzText_TypeChecks(f *testing.F) {
	loadImports(f)
	// Small ones: an input is checked some hundred times a second at best.
	text, err := os.ReadFile("testdata/design/events.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(bigSpec(1)))
	f.Add([]byte(emittest.Harmless))
	f.Fuzz(func(t *testing.T, text []byte) { checkSpec(t, text) })
}

// FuzzNames_TypeCheck feeds specs whose names and texts are anything.
func FuzzNames_TypeCheck(f *testing.F) {
	loadImports(f)
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { checkSpec(asTB{f, t}, drawSpec(t)) }))
}

func TestNames_TypeCheck(t *testing.T) {
	accepted, n := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		if checkSpec(asTB{t, r}, drawSpec(r)) {
			accepted++
		}
	})
	t.Logf("%d of %d specs were accepted", accepted, n)
	if accepted*10 < n {
		t.Errorf("only %d of %d specs were accepted: the test shows little", accepted, n)
	}
}

// asTB lets the helpers fail a rapid test.
type asTB struct {
	testing.TB
	t *rapid.T
}

func (a asTB) Helper()                           {}
func (a asTB) Fatal(args ...any)                 { a.t.Fatal(args...) }
func (a asTB) Fatalf(format string, args ...any) { a.t.Fatalf(format, args...) }

// drawSpec makes a spec of awkward names. Many are refused, for names that
// meet; the rest must come out well.
func drawSpec(t *rapid.T) []byte {
	words := rapid.SampledFrom([]string{
		"type", "func", "len", "nil", "error", "string", "a", "b", "A", "id", "ID", "url", "New", "Outbox", "Tx", "Handler", "Receiver", "With", "Config", "Batch",
		"Insert", "Dispatcher", "Option", "Valid", "Validate", "AppendCanonical", "MarshalJSON", "UnmarshalJSON", "write", "read", "payload", "outbox", "time", "context",
		"definition", "draft", "pattern", "1", "2fa", "é", "日本", "_", "e", "w", "o", "v", "i", "k", "ok", "err", "d", "h", "c", "m", "r", "tx", "ctx", "store", "opts", "json", "uuid",
	})
	wire := rapid.Custom(func(t *rapid.T) string {
		name := words.Draw(t, "word")
		for range rapid.IntRange(0, 2).Draw(t, "more words") {
			name += rapid.SampledFrom([]string{"_", ".", "-", "", "/"}).Draw(t, "joint") + words.Draw(t, "word")
		}
		return name
	})
	member := rapid.OneOf(wire, wire, rapid.StringN(1, 6, 40))
	typeName := rapid.Custom(func(t *rapid.T) string {
		return words.Filter(func(s string) bool { return s[0] >= 'A' && s[0] < 0x7f }).Draw(t, "type")
	})
	doc := rapid.OneOf(rapid.Just("A doc."), rapid.String(), rapid.SampledFrom(emittest.Evil))
	quote := func(s string) string {
		raw, _ := json.Marshal(strings.ToValidUTF8(s, "?"))
		return string(raw)
	}

	var b strings.Builder
	b.WriteString("version: 1\npackage: events\nsource: /fuzz\ndefaults: {idempotency: event}\noutputs: {json_schema: s, asyncapi: a.yaml, markdown: m.md}\ndestinations:\n")
	var destinations []string
	for _, name := range rapid.SliceOfNDistinct(wire, 1, 4, strings.ToLower).Draw(t, "destinations") {
		kind := rapid.SampledFrom([]string{"{kind: handler, doc: %s}", "{kind: publisher, doc: %s}", `{kind: webhook, url: "http://a/", secrets: ["${S}"], doc: %s}`}).Draw(t, "kind")
		fmt.Fprintf(&b, "  %s: "+kind+"\n", quote(name), quote(doc.Draw(t, "doc")))
		destinations = append(destinations, quote(name))
	}
	types := rapid.SliceOfNDistinct(typeName, 0, 3, rapid.ID[string]).Draw(t, "types")
	forms := append([]string{}, bigFields[:12]...)
	forms = append(forms, `"string?"`, `{type: [decimal], optional: true}`, `{string: int}`, `{type: date, nullable: true}`, `{type: uuid, optional: true, nullable: true}`,
		`{type: string, pattern: "^a"}`, `{type: string, go_type: time.Time}`, `{type: string, go_type: math/big.Int, optional: true, nullable: true}`)
	for _, name := range types {
		forms = append(forms, quote(name), `[`+quote(name)+`]`, `{type: `+quote(name)+`, optional: true}`, `{type: `+quote(name)+`, optional: true, nullable: true}`)
	}
	enum := func() string {
		values := rapid.SliceOfNDistinct(member, 1, 4, rapid.ID[string]).Draw(t, "values")
		for i := range values {
			values[i] = quote(values[i])
		}
		return "{enum: [" + strings.Join(values, ", ") + "]}"
	}
	var fieldNames []string // of the fields drawn last
	fields := func() string {
		var fs []string
		fieldNames = nil
		for _, name := range rapid.SliceOfNDistinct(member, 0, 5, rapid.ID[string]).Draw(t, "fields") {
			form := rapid.SampledFrom(forms).Draw(t, "form")
			if rapid.IntRange(0, 5).Draw(t, "enum") == 0 {
				form = enum()
			}
			fs = append(fs, quote(name)+": "+form)
			fieldNames = append(fieldNames, quote(name))
		}
		return "{" + strings.Join(fs, ", ") + "}"
	}
	if len(types) > 0 {
		b.WriteString("types:\n")
	}
	for _, name := range types {
		body := "{doc: " + quote(doc.Draw(t, "doc")) + ", fields: " + fields() + "}"
		if rapid.IntRange(0, 3).Draw(t, "enum type") == 0 {
			body = enum()
		}
		fmt.Fprintf(&b, "  %s: %s\n", quote(name), body)
	}
	b.WriteString("events:\n")
	for _, name := range rapid.SliceOfNDistinct(wire, 1, 4, rapid.ID[string]).Draw(t, "events") {
		to := destinations[:rapid.IntRange(0, len(destinations)).Draw(t, "to")]
		members, keys := fields(), ""
		if len(fieldNames) > 0 && rapid.Bool().Draw(t, "keyed") {
			keys = ", ordering_key: " + fieldNames[0] + ", idempotency: [" + fieldNames[len(fieldNames)-1] + "]"
		}
		fmt.Fprintf(&b, "  %s: {to: [%s], doc: %s, fields: %s%s}\n", quote(name), strings.Join(to, ", "), quote(doc.Draw(t, "doc")), members, keys)
	}
	return []byte(b.String())
}
