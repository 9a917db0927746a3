package emit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/outboxgen/outboxgen/runtime/canonical"
)

// marker is Header without its comment sign, for files of other kinds.
var marker = strings.TrimPrefix(Header, "// ")

// jsonSchemas makes one JSON Schema (2020-12) per event, of its payload.
func (g *generator) jsonSchemas() []File {
	var files []File
	for _, e := range g.spec.Events {
		s := g.newSchemas("#/$defs/")
		root := object{
			{"$schema", "https://json-schema.org/draft/2020-12/schema"},
			{"$comment", marker},
		}
		root = append(root, s.event(e)...)
		if defs := s.definitions(); len(defs) > 0 {
			root = root.with("$defs", defs)
		}
		content, err := encodeJSON(root)
		g.check(err)
		files = append(files, File{g.spec.Outputs.JSONSchema + "/" + e.FileName + ".schema.json", content})
	}
	return files
}

// schemas builds the schemas of payloads. Named types are referred to, and
// collected for the document to define.
type schemas struct {
	g      *generator
	prefix string       // of a reference, before the type's key
	used   []*spec.Type // without repetition
	seen   map[*spec.Type]bool
}

func (g *generator) newSchemas(prefix string) *schemas {
	if g.keys == nil {
		g.keys = make(map[*spec.Type]string, len(g.spec.Types))
		taken := map[string]bool{}
		for _, t := range g.spec.Types {
			g.keys[t] = uniqueKey(t.GoName, taken)
		}
	}
	return &schemas{g: g, prefix: prefix, seen: map[*spec.Type]bool{}}
}

// uniqueKey makes a Go name a key of a document, in ASCII, as AsyncAPI wants
// (3.0.0, Components Object).
func uniqueKey(goName string, taken map[string]bool) string {
	var b strings.Builder
	for _, r := range goName {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "U%04X", r)
		}
	}
	base := b.String()
	key := base
	for n := 2; taken[key]; n++ {
		key = base + "_" + strconv.Itoa(n)
	}
	taken[key] = true
	return key
}

// definitions are the schemas of the types that were referred to, and of those
// that they refer to, sorted by name.
func (s *schemas) definitions() object {
	var defs object
	for i := 0; i < len(s.used); i++ { // used grows on the way
		t := s.used[i]
		defs = defs.with(s.g.keys[t], s.named(t))
	}
	slices.SortFunc(defs, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return defs
}

func (s *schemas) event(e *spec.Event) object {
	o := object{{"title", fmt.Sprintf("%s, version %d", e.Name, e.Version)}}
	o = o.withText("description", e.Doc)
	o = deprecatedIf(o, e.Deprecated)
	o = append(o, s.members(e.Fields)...)
	return s.examples(o, e.Examples)
}

func (s *schemas) named(t *spec.Type) object {
	o := object{}.withText("description", t.Doc)
	o = deprecatedIf(o, t.Deprecated)
	if len(t.Enum) > 0 {
		return append(o, enumSchema(t.Enum)...)
	}
	return append(o, s.members(t.Fields)...)
}

func deprecatedIf(o object, text string) object {
	if text == "" {
		return o
	}
	return o.with("deprecated", true)
}

func (s *schemas) examples(o object, texts []string) object {
	if len(texts) == 0 {
		return o
	}
	var list []any
	for _, text := range texts {
		tree, err := parseJSON(text)
		s.g.check(err)
		list = append(list, tree)
	}
	return o.with("examples", list)
}

// members is the schema of a struct. Members that it does not name are
// allowed: a type can grow.
func (s *schemas) members(fields []*spec.Field) object {
	properties, required := object{}, []any{}
	for _, f := range fields {
		properties = properties.with(f.Name, s.field(f))
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	o := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		o = o.with("required", required)
	}
	return o
}

func (s *schemas) field(f *spec.Field) object {
	o := object{}.withText("description", describe(f.Doc, f.Type, f.Rules, f.Deprecated))
	o = deprecatedIf(o, f.Deprecated)
	o = append(o, s.value(f.Type, f.Rules, f.Nullable)...)
	return s.examples(o, f.Examples)
}

// describe is a field's doc, with the rules that JSON Schema has no keyword
// for, and what to use instead.
func describe(doc string, t *spec.TypeRef, r spec.Rules, deprecated string) string {
	parts := []string{doc}
	switch t.Scalar {
	case spec.Int64, spec.Decimal, spec.Timestamp, spec.Date, spec.Duration:
		parts = append(parts, strings.Join(ruleNotes(t, spec.Rules{Min: r.Min, Max: r.Max}), " "))
	}
	if deprecated != "" {
		parts = append(parts, "Deprecated: "+deprecated)
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return strings.TrimSpace(p) == "" })
	return strings.Join(parts, "\n\n")
}

func (s *schemas) value(t *spec.TypeRef, r spec.Rules, nullable bool) object {
	o := s.present(t, r)
	if !nullable {
		return o
	}
	if len(o) > 0 && o[0].name == "type" && t.Enum == nil {
		o[0].value = []any{o[0].value, "null"}
		return o
	}
	return object{{"anyOf", []any{o, object{{"type", "null"}}}}}
}

func (s *schemas) element(e *spec.Element) object {
	o := s.value(e.Type, e.Rules, e.Nullable)
	if text := describe("", e.Type, e.Rules, ""); text != "" {
		return append(object{{"description", text}}, o...)
	}
	return o
}

// present is the schema of a value that is there and not null.
func (s *schemas) present(t *spec.TypeRef, r spec.Rules) object {
	switch {
	case t.Named != nil:
		if !s.seen[t.Named] {
			s.seen[t.Named] = true
			s.used = append(s.used, t.Named)
		}
		return object{{"$ref", s.prefix + s.g.keys[t.Named]}}
	case t.Enum != nil:
		return enumSchema(t.Enum.Values)
	case t.List != nil:
		return sized(object{{"type", "array"}, {"items", s.element(t.List)}}, "minItems", r.MinItems, "maxItems", r.MaxItems)
	case t.Map != nil:
		return sized(object{{"type", "object"}, {"additionalProperties", s.element(t.Map)}}, "minProperties", r.MinItems, "maxProperties", r.MaxItems)
	}
	return s.scalar(t.Scalar, r)
}

func sized(o object, least string, n *int, most string, m *int) object {
	if n != nil {
		o = o.with(least, number(*n))
	}
	if m != nil {
		o = o.with(most, number(*m))
	}
	return o
}

// enumSchema lists the values, each with its own words when one has any.
func enumSchema(values []*spec.EnumValue) object {
	o := object{{"type", "string"}}
	plain := !slices.ContainsFunc(values, func(v *spec.EnumValue) bool { return v.Doc != "" || v.Deprecated != "" })
	var list []any
	for _, v := range values {
		if plain {
			list = append(list, v.Value)
			continue
		}
		one := object{{"const", v.Value}}
		one = one.withText("description", describe(v.Doc, &spec.TypeRef{}, spec.Rules{}, v.Deprecated))
		list = append(list, deprecatedIf(one, v.Deprecated))
	}
	if plain {
		return o.with("enum", list)
	}
	return o.with("oneOf", list)
}

// Patterns of the texts that canonical form has for scalars.
const (
	int64Pattern     = `^(0|-?[1-9][0-9]{0,18})$`
	decimalPattern   = `^(0|-?(0\.[0-9]*[1-9]|[1-9][0-9]*(\.[0-9]*[1-9])?))$`
	timestampPattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]*[1-9])?Z$`
	datePattern      = `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`
	durationPattern  = `^(0s|-?([0-9]+h)?([0-9]+m)?[0-9]+(\.[0-9]+)?(s|ms|µs|ns))$`
	uuidPattern      = `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	base64Pattern    = `^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?$`
)

func (s *schemas) scalar(scalar spec.Scalar, r spec.Rules) object {
	text := func(format, pattern string) object {
		o := object{{"type", "string"}}
		return o.withText("format", format).with("pattern", pattern)
	}
	switch scalar {
	case spec.Bool:
		return object{{"type", "boolean"}}
	case spec.Float:
		return s.bounds(object{{"type", "number"}}, r)
	case spec.Int:
		low, high := fmt.Sprint(-canonical.MaxInt), fmt.Sprint(canonical.MaxInt)
		if r.Min == nil {
			r.Min = &low
		}
		if r.Max == nil {
			r.Max = &high
		}
		return s.bounds(object{{"type", "integer"}}, r)
	case spec.Int64:
		return text("", int64Pattern)
	case spec.Decimal:
		return text("", decimalPattern)
	case spec.Timestamp:
		return text("date-time", timestampPattern)
	case spec.Date:
		return text("date", datePattern)
	case spec.Duration:
		return text("", durationPattern)
	case spec.UUID:
		return text("uuid", uuidPattern)
	case spec.Bytes:
		o := object{{"type", "string"}, {"contentEncoding", "base64"}, {"pattern", base64Pattern}}
		return sized(o, "minLength", base64Length(r.MinLength), "maxLength", base64Length(r.MaxLength))
	case spec.JSON:
		return object{}
	}
	o := sized(object{{"type", "string"}}, "minLength", r.MinLength, "maxLength", r.MaxLength)
	if r.Pattern != "" {
		pattern, err := ecmaPattern(r.Pattern)
		s.g.check(err)
		o = o.with("pattern", pattern)
	}
	return o.withText("format", r.Format)
}

func (s *schemas) bounds(o object, r spec.Rules) object {
	for _, b := range []struct {
		name string
		text *string
	}{{"minimum", r.Min}, {"maximum", r.Max}} {
		if b.text == nil {
			continue
		}
		f, err := json.Number(*b.text).Float64()
		s.g.check(err)
		n, err := canonical.AppendFloat(nil, f)
		s.g.check(err)
		o = o.with(b.name, json.Number(n))
	}
	return o
}

// base64Length is how many characters n bytes take.
func base64Length(n *int) *int {
	if n == nil {
		return nil
	}
	length := (*n + 2) / 3 * 4
	return &length
}
