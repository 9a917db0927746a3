package importer

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"gopkg.in/yaml.v3"
)

// writeSpec writes the spec as a person would: short values in one line, long
// ones with a line for each key. chosen are the Go names that must be said.
func writeSpec(s *spec.Spec, chosen map[any]string) []byte {
	w := writer{chosen}
	root := mapping()
	add(root, "version", plain("1"))
	add(root, "package", words(s.Package))
	add(root, "source", words(s.Source))
	if s.Doc != "" {
		add(root, "doc", words(s.Doc))
	}
	defaults := mapping()
	add(defaults, "to", sequence())
	add(defaults, "idempotency", plain("event"))
	add(root, "defaults", defaults)
	root.Content[len(root.Content)-2].HeadComment = "Decide, here or for each event, where it goes and what makes two inserts one\nevent: payload, event (nothing does) or the fields that identify the fact."
	if len(s.Types) > 0 {
		types := mapping()
		for _, t := range s.Types {
			add(types, t.Name, w.namedType(t))
		}
		add(root, "types", types)
	}
	events := mapping()
	for _, e := range s.Events {
		add(events, e.Name, w.event(e))
	}
	add(root, "events", events)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	// A tree of texts, lists and mappings can be written.
	if err := encoder.Encode(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}}); err != nil {
		panic(err)
	}
	return out.Bytes()
}

type writer struct{ chosen map[any]string }

// about adds what things are called and what is said of them.
func (w writer) about(to *yaml.Node, subject any, doc, deprecated string) {
	if doc != "" {
		add(to, "doc", words(doc))
	}
	if deprecated != "" {
		add(to, "deprecated", words(deprecated))
	}
	if name, ok := w.chosen[subject]; ok {
		add(to, "go_name", words(name))
	}
}

func (w writer) namedType(t *spec.Type) *yaml.Node {
	n := mapping()
	w.about(n, t, t.Doc, t.Deprecated)
	if len(t.Enum) > 0 {
		add(n, "enum", w.enum(t.Enum))
	} else {
		add(n, "fields", w.fields(t.Fields))
	}
	return n
}

func (w writer) event(e *spec.Event) *yaml.Node {
	n := mapping()
	w.about(n, e, e.Doc, e.Deprecated)
	add(n, "fields", w.fields(e.Fields))
	return n
}

func (w writer) fields(fields []*spec.Field) *yaml.Node {
	n := mapping()
	for _, f := range fields {
		add(n, f.Name, w.field(f))
	}
	if len(fields) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

func (w writer) field(f *spec.Field) *yaml.Node {
	n := mapping()
	w.value(n, f.Type, f.Nullable, f.Rules)
	if f.Optional {
		add(n, "optional", plain("true"))
	}
	w.about(n, f, f.Doc, f.Deprecated)
	named := f.Type.Scalar != "" || f.Type.Named != nil
	switch {
	case len(n.Content) == 2 && f.Type.Enum == nil:
		return n.Content[1] // T
	case len(n.Content) == 4 && f.Optional && named:
		return words(n.Content[1].Value + "?")
	}
	return flowIfShort(n)
}

// value adds the type of a field or element, and its rules.
func (w writer) value(n *yaml.Node, t *spec.TypeRef, nullable bool, r spec.Rules) {
	if t.Enum != nil {
		add(n, "enum", w.enum(t.Enum.Values))
	} else {
		add(n, "type", w.typeRef(t))
	}
	if nullable {
		add(n, "nullable", plain("true"))
	}
	for _, rule := range []struct {
		key   string
		value *string
	}{
		{"min", r.Min}, {"max", r.Max}, {"min_length", digits(r.MinLength)}, {"max_length", digits(r.MaxLength)},
		{"min_items", digits(r.MinItems)}, {"max_items", digits(r.MaxItems)},
	} {
		if rule.value != nil {
			add(n, rule.key, plain(*rule.value))
		}
	}
	if r.Pattern != "" {
		add(n, "pattern", words(r.Pattern))
	}
	if r.Format != "" {
		add(n, "format", words(r.Format))
	}
}

func digits(i *int) *string {
	if i == nil {
		return nil
	}
	s := strconv.Itoa(*i)
	return &s
}

func (w writer) typeRef(t *spec.TypeRef) *yaml.Node {
	switch {
	case t.Named != nil:
		return words(t.Named.Name)
	case t.List != nil:
		return flow(sequence(w.element(t.List)))
	case t.Map != nil:
		n := mapping()
		add(n, "string", w.element(t.Map))
		return flow(n)
	}
	return words(string(t.Scalar))
}

func (w writer) element(e *spec.Element) *yaml.Node {
	n := mapping()
	w.value(n, e.Type, e.Nullable, e.Rules)
	if len(n.Content) == 2 && n.Content[0].Value == "type" {
		return n.Content[1]
	}
	return flow(n)
}

func (w writer) enum(values []*spec.EnumValue) *yaml.Node {
	list := sequence()
	for _, v := range values {
		value := words(v.Value)
		if name, ok := w.chosen[v]; ok {
			long := mapping()
			add(long, "value", value)
			add(long, "go_name", words(name))
			value = flow(long)
		}
		list.Content = append(list.Content, value)
	}
	return flowIfShort(list)
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

func sequence(items ...*yaml.Node) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
	if len(items) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

func add(to *yaml.Node, key string, value *yaml.Node) {
	to.Content = append(to.Content, words(key), value)
}

// words is a text, in quotes where YAML would take it for something else.
func words(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.Contains(s, "\n") {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// plain is a number or a word of the language, never in quotes.
func plain(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: s}
	n.Tag = n.ShortTag()
	return n
}

// flow writes a value in one line. In it a text with a ? or a ${ needs quotes.
func flow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.ScalarNode {
		if n.Tag == "!!str" && strings.ContainsAny(n.Value, "?{}[],:#&*!|>'\"%@`\t\n") {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n
	}
	n.Style = yaml.FlowStyle
	for _, c := range n.Content {
		flow(c)
	}
	return n
}

// flowIfShort writes a value in one line if it fits into one.
func flowIfShort(n *yaml.Node) *yaml.Node {
	const lineWidth = 90
	if width(n) <= lineWidth {
		return flow(n)
	}
	return n
}

// width is about how long the value is in one line.
func width(n *yaml.Node) int {
	if n.Kind == yaml.ScalarNode {
		if strings.Contains(n.Value, "\n") {
			return 1000
		}
		return len([]rune(n.Value)) + 2
	}
	total := 2
	for _, c := range n.Content {
		total += width(c)
	}
	return total
}
