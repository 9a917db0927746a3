package compat

import (
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// enumSide is one side of an enum, named or not.
type enumSide struct {
	goName string
	values []*spec.EnumValue
}

func enumOf(t *spec.TypeRef) enumSide {
	if t.Named != nil {
		return enumSide{t.Named.GoName, t.Named.Enum}
	}
	return enumSide{t.Enum.GoName, t.Enum.Values}
}

// enumUse compares the enum of a field.
func (c *comparison) enumUse(v values, old, new *spec.TypeRef) {
	if old.Named != nil && new.Named != nil {
		c.namedType(old.Named, new.Named)
		return
	}
	was, is := enumOf(old), enumOf(new)
	// An enum within a field is called after what holds the field, and follows
	// its name.
	expected := old.Enum != nil && new.Enum != nil && v.in.followed && strings.TrimPrefix(was.goName, v.in.oldGo) == strings.TrimPrefix(is.goName, v.in.newGo)
	if was.goName != is.goName && !expected {
		c.add(goTypeChanged, v.pos, "%s was %s in Go and is %s", v.what, was.goName, is.goName)
	}
	c.enumValues(v, was, is)
}

func (c *comparison) enumValues(v values, old, new enumSide) {
	for _, o := range old.values {
		n := value(new.values, o.Value)
		if n == nil {
			c.add(enumValueRemoved, v.pos, "%s has no value %q any more", v.what, o.Value)
			continue
		}
		// What the enum itself is called is told once, not again for each value.
		if was, is := strings.TrimPrefix(o.GoName, old.goName), strings.TrimPrefix(n.GoName, new.goName); was != is {
			c.add(enumValueRenamed, n.Pos, "value %q of %s was %s in Go and is %s", n.Value, v.what, o.GoName, n.GoName)
		}
	}
	for _, n := range new.values {
		if value(old.values, n.Value) == nil {
			c.add(enumValueAdded, n.Pos, "%s has a new value %q", v.what, n.Value)
		}
	}
}

func value(values []*spec.EnumValue, text string) *spec.EnumValue {
	for _, v := range values {
		if v.Value == text {
			return v
		}
	}
	return nil
}
