package compat

import (
	"slices"
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// structs are the two sides of an event or a struct type whose fields are
// compared.
type structs struct {
	what         string   // how messages call it
	pos          spec.Pos // in the new spec
	oldGo, newGo string   // Go names, which begin those of the enums within
	followed     bool     // the Go names are expected to be others
	event        *spec.Event
}

func field(fields []*spec.Field, name string) *spec.Field {
	for _, f := range fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

func (c *comparison) fields(s structs, old, new []*spec.Field) {
	for _, o := range old {
		if n := field(new, o.Name); n != nil {
			c.field(s, o, n)
		} else {
			c.add(fieldRemoved, s.pos, "%s has no field %q any more", s.what, o.Name)
		}
	}
	for _, n := range new {
		switch {
		case field(old, n.Name) != nil:
		case n.Optional:
			c.add(optionalFieldAdded, n.Pos, "%s has a new optional field %q", s.what, n.Name)
		default:
			c.add(requiredFieldAdded, n.Pos, "%s has a new required field %q", s.what, n.Name)
		}
	}
}

func (c *comparison) field(s structs, old, new *spec.Field) {
	v := values{s, "field \"" + new.Name + "\" of " + s.what, new.Pos}
	if old.GoName != new.GoName {
		c.add(fieldRenamed, v.pos, "%s was %s in Go and is %s", v.what, old.GoName, new.GoName)
	}
	switch {
	case old.Optional && !new.Optional:
		c.add(fieldBecameRequired, v.pos, "%s was optional and is required", v.what)
	case !old.Optional && new.Optional:
		c.add(fieldBecameOptional, v.pos, "%s was required and is optional", v.what)
	}
	c.value(v,
		&spec.Element{Type: old.Type, Nullable: old.Nullable, GoType: old.GoType, Rules: old.Rules},
		&spec.Element{Type: new.Type, Nullable: new.Nullable, GoType: new.GoType, Rules: new.Rules})
}

// values are the two sides of a value: a field's, or an element's of it.
type values struct {
	in   structs
	what string
	pos  spec.Pos
}

func (c *comparison) value(v values, old, new *spec.Element) {
	if !sameKind(old.Type, new.Type) {
		c.add(fieldTypeChanged, v.pos, "%s was %s and is %s", v.what, typeText(old.Type), typeText(new.Type))
		return
	}
	if old.Nullable != new.Nullable {
		if new.Nullable {
			c.add(nullabilityChanged, v.pos, "%s may be null now", v.what)
		} else {
			c.add(nullabilityChanged, v.pos, "%s may not be null any more", v.what)
		}
	}
	c.goType(v, old, new)
	c.rules(v, old.Type, old.Rules, new.Rules)
	switch {
	case new.Type.List != nil:
		c.value(values{v.in, "element of " + v.what, v.pos}, old.Type.List, new.Type.List)
	case new.Type.Map != nil:
		c.value(values{v.in, "value of " + v.what, v.pos}, old.Type.Map, new.Type.Map)
	case new.Type.Named != nil && len(new.Type.Named.Enum) == 0:
		c.namedType(old.Type.Named, new.Type.Named)
	case isEnum(new.Type):
		c.enumUse(v, old.Type, new.Type)
	}
}

func (c *comparison) goType(v values, old, new *spec.Element) {
	was, is := goTypeText(old.GoType), goTypeText(new.GoType)
	if was != is {
		c.add(goTypeChanged, v.pos, "%s was %s in Go and is %s", v.what, was, is)
	}
}

func goTypeText(t *spec.GoType) string {
	if t == nil {
		return "the type of its scalar"
	}
	return t.ImportPath + "." + t.Name
}

// sameKind reports types whose values look alike on the wire, as far as the
// outermost shape goes.
func sameKind(old, new *spec.TypeRef) bool {
	switch {
	case isEnum(old) || isEnum(new):
		return isEnum(old) && isEnum(new)
	case old.Named != nil:
		return new.Named != nil
	case old.List != nil:
		return new.List != nil
	case old.Map != nil:
		return new.Map != nil
	}
	return old.Scalar == new.Scalar
}

func isEnum(t *spec.TypeRef) bool { return t.Enum != nil || t.Named != nil && len(t.Named.Enum) > 0 }

// typeText is a type as a spec writes it.
func typeText(t *spec.TypeRef) string {
	switch {
	case t.Named != nil:
		return t.Named.Name
	case t.Enum != nil:
		return "an enum"
	case t.List != nil:
		return "[" + elementText(t.List) + "]"
	case t.Map != nil:
		return "{string: " + elementText(t.Map) + "}"
	}
	return string(t.Scalar)
}

func elementText(e *spec.Element) string {
	if e.Nullable {
		return typeText(e.Type) + "?"
	}
	return typeText(e.Type)
}

// shown is all of a field that the bytes of its value depend on.
func shown(f *spec.Field) string {
	if f == nil {
		return "absent"
	}
	text := typeText(f.Type)
	if f.Optional {
		text = "optional " + text
	}
	if f.Nullable {
		text = "nullable " + text
	}
	return text
}

func list(names []string) string { return "[" + strings.Join(names, ", ") + "]" }

// pair is an old and a new named type that stand for each other.
type pair struct{ old, new *spec.Type }

// namedType compares two named types, once however often they are used.
func (c *comparison) namedType(old, new *spec.Type) {
	p := pair{old, new}
	if c.seen[p] {
		return
	}
	c.seen[p] = true
	defer c.adviseOfType(len(c.changes))
	what := "type \"" + new.Name + "\""
	if old.GoName != new.GoName {
		c.add(typeRenamed, new.Pos, "%s was %s in Go and is %s", what, old.GoName, new.GoName)
	}
	if len(new.Enum) > 0 {
		c.enumValues(values{structs{}, what, new.Pos}, enumSide{old.GoName, old.Enum}, enumSide{new.GoName, new.Enum})
		return
	}
	c.fields(structs{what: what, pos: new.Pos, oldGo: old.GoName, newGo: new.GoName, followed: old.GoName != new.GoName}, old.Fields, new.Fields)
}

// adviseOfType gives the changes from the given one on, which are within a named
// type, an advice that can be followed there.
func (c *comparison) adviseOfType(from int) {
	for i := range c.changes[from:] {
		rule := &c.changes[from+i].Rule
		if advice, ok := ofType[rule.Advice]; ok {
			rule.Advice = advice
		}
	}
}

// types compares the named types that no event uses, and those that are gone.
func (c *comparison) types() {
	for _, old := range c.old.Types {
		new := typeNamed(c.new, old.Name)
		switch {
		case new != nil && (len(old.Enum) > 0) == (len(new.Enum) > 0):
			c.namedType(old, new)
		case new != nil && !c.replaced(old):
			from := len(c.changes)
			c.add(fieldTypeChanged, new.Pos, "type %q was a struct or an enum and is the other", new.Name)
			c.adviseOfType(from)
		case new == nil && !c.replaced(old):
			c.add(typeRemoved, c.top(), "type %q is gone", old.Name)
		}
	}
}

func typeNamed(s *spec.Spec, name string) *spec.Type {
	i := slices.IndexFunc(s.Types, func(t *spec.Type) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return s.Types[i]
}

// replaced reports a type that another one stands for where it was used.
func (c *comparison) replaced(old *spec.Type) bool {
	for p := range c.seen {
		if p.old == old {
			return true
		}
	}
	return false
}
