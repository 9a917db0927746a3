package importer

import (
	"slices"
	"strconv"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// allOf converts a schema that must hold in all its parts: objects become one
// with the members of all.
func (c *conversion) allOf(n *node, name string) value {
	merged := c.merge(n)
	if merged == nil {
		return c.anything(n, "a value that several schemas describe together")
	}
	if merged.get("oneOf") != nil || merged.get("anyOf") != nil {
		return c.schema(merged, name)
	}
	return c.plain(merged, name)
}

// merge is one schema that says what all parts of an allOf say; nil when they
// are not all objects, or one part alone that says something. It is made once,
// so that its type is the same wherever it is used.
func (c *conversion) merge(n *node) *node {
	if m, ok := c.merged[n]; ok {
		return m
	}
	c.merged[n] = nil // a part that leads back here is no object
	var parts []*node
	for _, p := range n.get("allOf").orEmpty().items {
		target, _, ok := c.documents.target(p)
		if !ok {
			return nil
		}
		if target.get("allOf") != nil {
			if target = c.merge(target); target == nil {
				return nil
			}
		}
		c.unknownKeywords(target)
		if len(target.members) > 0 {
			parts = append(parts, target)
		}
	}
	own := n.without("allOf")
	if saysSomething(own) {
		parts = append(parts, own)
	}
	var m *node
	switch {
	case len(parts) == 1:
		m = parts[0].with(own)
	case slices.ContainsFunc(parts, func(p *node) bool { return !c.isObject(p) }) || len(parts) == 0:
		return nil
	default:
		m = c.mergeObjects(n, parts, own)
	}
	c.merged[n] = m
	return m
}

// isObject reports a schema of objects with named members, or that only says
// something of them.
func (c *conversion) isObject(n *node) bool {
	types, nullable := c.typesOf(n)
	return !nullable && len(types) == 1 && types[0] == "object" && n.get("oneOf") == nil && n.get("anyOf") == nil
}

// saysSomething reports a schema with more than words for people in it.
func saysSomething(n *node) bool {
	return slices.ContainsFunc(n.members, func(m member) bool {
		switch m.name {
		case "title", "description", "$schema", "$id", "$comment", "examples", "deprecated", "definitions", "$defs", "readOnly", "default":
			return false
		}
		return true
	})
}

// mergeObjects is an object with the members of all. A member that several
// have is as the last one says that says something of it.
func (c *conversion) mergeObjects(n *node, parts []*node, own *node) *node {
	properties := &node{file: n.file, pointer: n.pointer, kind: object}
	required := &node{file: n.file, pointer: n.pointer, kind: array}
	var closed *node
	for _, p := range parts {
		for _, m := range p.get("properties").orEmpty().members {
			i := slices.IndexFunc(properties.members, func(o member) bool { return o.name == m.name })
			switch {
			case i < 0:
				properties.members = append(properties.members, m)
			case saysSomething(m.value):
				properties.members[i].value = m.value
			}
		}
		required.items = append(required.items, p.get("required").orEmpty().items...)
		for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
			if extra := p.get(key); extra != nil {
				closed = extra
			}
		}
	}
	m := &node{file: n.file, pointer: n.pointer, kind: object, members: []member{
		{"type", &node{file: n.file, pointer: n.pointer, kind: text, text: "object"}},
		{"properties", properties}, {"required", required},
	}}
	if closed != nil {
		m.members = append(m.members, member{"additionalProperties", closed})
	}
	return m.with(own)
}

// with adds what own says to people.
func (n *node) with(own *node) *node {
	copied := *n
	copied.members = slices.Clone(n.members)
	for _, key := range []string{"description", "title", "deprecated"} {
		if v := own.get(key); v != nil && n.get(key) == nil {
			copied.members = append(copied.members, member{key, v})
		}
	}
	return &copied
}

func (n *node) without(key string) *node {
	copied := *n
	copied.members = slices.DeleteFunc(slices.Clone(n.members), func(m member) bool { return m.name == key })
	return &copied
}

// union converts a value that has one of several schemas. Null among them makes
// it nullable; texts become one enum; anything else is json.
func (c *conversion) union(n *node, alternatives *node, name string) value {
	var rest []*node
	nullable := false
	for _, a := range alternatives.items {
		target, _, ok := c.documents.target(a)
		if ok && c.isNull(target) {
			nullable = true
			continue
		}
		rest = append(rest, a)
	}
	if len(rest) == 1 {
		v := c.schema(rest[0], name)
		v.nullable = v.nullable || nullable
		return v
	}
	if texts, null, ok := c.textsOf(rest); ok {
		v := c.enum(n, texts, name)
		v.nullable = v.nullable || nullable || null
		return v
	}
	if c.allStrings(rest) {
		c.lose(alternatives, Loosened, "which of %d forms of text it has is not checked", len(rest))
		v := scalar(spec.String)
		v.nullable = nullable
		return v
	}
	if n.get("properties") != nil && !saysSomethingElse(n) {
		// "One of these must be there": the members are those of the object.
		c.lose(alternatives, Loosened, "which members must be there together is not checked")
		return c.plain(n, name)
	}
	return c.anything(n, "one of "+strconv.Itoa(len(rest))+" schemas")
}

// mergeForms is one object with the members of all the forms of a payload; nil
// when one of them is no object. A member that differs from form to form is
// one of its schemas, and one that not all forms need may be absent.
func (c *conversion) mergeForms(n *node) *node {
	properties := &node{file: n.file, pointer: n.pointer, kind: object}
	schemas := map[string][]*node{}
	needed := map[string]int{}
	forms := alternatives(n).items
	for _, form := range forms {
		target, _, ok := c.documents.target(form)
		if ok && target.get("allOf") != nil {
			target = c.merge(target)
		}
		if !ok || target == nil || !c.isObject(target) {
			return nil
		}
		for _, m := range target.get("properties").orEmpty().members {
			if schemas[m.name] == nil {
				properties.members = append(properties.members, member{name: m.name})
			}
			if !slices.ContainsFunc(schemas[m.name], func(s *node) bool { return same(s, m.value) }) {
				schemas[m.name] = append(schemas[m.name], m.value)
			}
		}
		for _, item := range target.get("required").orEmpty().items {
			needed[item.string()]++
		}
	}
	required := &node{file: n.file, pointer: n.pointer, kind: array}
	for i, m := range properties.members {
		properties.members[i].value = schemas[m.name][0]
		if list := schemas[m.name]; len(list) > 1 {
			choice := &node{file: list[0].file, pointer: list[0].pointer, kind: object}
			choice.members = []member{{"oneOf", &node{file: choice.file, pointer: choice.pointer, kind: array, items: list}}}
			properties.members[i].value = choice
		}
		if needed[m.name] == len(forms) {
			required.items = append(required.items, &node{file: n.file, pointer: n.pointer, kind: text, text: m.name})
		}
	}
	c.lose(alternatives(n), Loosened, "the %d forms of the payload are one: which members come together is not checked", len(forms))
	merged := &node{file: n.file, pointer: n.pointer, kind: object, members: []member{
		{"type", &node{file: n.file, pointer: n.pointer, kind: text, text: "object"}},
		{"properties", properties}, {"required", required},
	}}
	return merged.with(n)
}

// same reports schemas with the same text.
func same(a, b *node) bool {
	if a.kind != b.kind || a.text != b.text || a.truth != b.truth || len(a.members) != len(b.members) || len(a.items) != len(b.items) {
		return false
	}
	for i := range a.members {
		if a.members[i].name != b.members[i].name || !same(a.members[i].value, b.members[i].value) {
			return false
		}
	}
	for i := range a.items {
		if !same(a.items[i], b.items[i]) {
			return false
		}
	}
	return true
}

// saysSomethingElse reports alternatives of an object that have members or
// types of their own.
func saysSomethingElse(n *node) bool {
	for _, key := range []string{"oneOf", "anyOf"} {
		for _, a := range n.get(key).orEmpty().items {
			for _, m := range a.members {
				if m.name != "required" {
					return true
				}
			}
		}
	}
	return false
}

// allStrings reports alternatives that are all texts.
func (c *conversion) allStrings(alternatives []*node) bool {
	for _, a := range alternatives {
		target, _, ok := c.documents.target(a)
		if !ok || target.get("type").string() != "string" {
			return false
		}
	}
	return len(alternatives) > 0
}

func (c *conversion) isNull(n *node) bool {
	if n.get("const").is(null) {
		return true
	}
	if values := n.get("enum"); values.is(array) && len(values.items) == 1 {
		return values.items[0].is(null)
	}
	types, nullable := c.typesOf(n)
	return nullable && len(types) == 0
}

// textsOf gathers the values of alternatives that are all enums of texts.
func (c *conversion) textsOf(alternatives []*node) (texts []*node, nullable, ok bool) {
	for _, a := range alternatives {
		target, _, found := c.documents.target(a)
		if !found {
			return nil, false, false
		}
		values := target.get("enum").orEmpty().items
		if constant := target.get("const"); constant != nil {
			values = []*node{constant}
		}
		if len(values) == 0 {
			return nil, false, false
		}
		for _, v := range values {
			switch v.kind {
			case text:
				texts = append(texts, v)
			case null:
				nullable = true
			default:
				return nil, false, false
			}
		}
	}
	return texts, nullable, len(texts) > 0
}

// enum converts a value that is one of a few. Texts become an enum; of numbers
// and booleans only the type is kept.
func (c *conversion) enum(n *node, values []*node, name string) value {
	var v value
	var texts []*node
	kinds := map[kind]bool{}
	for _, item := range values {
		if item.kind == null {
			v.nullable = true
			continue
		}
		kinds[item.kind] = true
		texts = append(texts, item)
	}
	switch {
	case len(kinds) == 0:
		return scalar(spec.JSON)
	case len(kinds) > 1:
		return c.anything(n, "an enum of different types")
	case kinds[text]:
		v.ref = &spec.TypeRef{Enum: &spec.Enum{Values: enumValues(texts)}}
		return v
	case kinds[boolean]:
		v.ref = &spec.TypeRef{Scalar: spec.Bool}
		if len(texts) < 2 {
			c.lose(n, Loosened, "that it is always %t is not checked", texts[0].truth)
		}
		return v
	case kinds[number]:
		v.ref = &spec.TypeRef{Scalar: spec.Float}
		if !slices.ContainsFunc(texts, func(t *node) bool { return !spec.IsValue(spec.Int, t.text) }) {
			v.ref.Scalar = spec.Int
		}
		c.lose(n, Loosened, "that it is one of %d numbers is not checked", len(texts))
		return v
	}
	return c.anything(n, "an enum of objects or lists")
}

func enumValues(texts []*node) []*spec.EnumValue {
	var out []*spec.EnumValue
	for _, t := range texts {
		if !slices.ContainsFunc(out, func(v *spec.EnumValue) bool { return v.Value == t.text }) {
			out = append(out, &spec.EnumValue{Value: t.text})
		}
	}
	return out
}
