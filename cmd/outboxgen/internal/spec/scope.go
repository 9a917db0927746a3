package spec

import (
	"fmt"
	"unicode/utf8"
)

// clash is a name that cannot be had.
type clash struct {
	name    string
	what    string // who asks for it
	pos     Pos
	subject any // the *Event, *Type, *Field, *EnumValue or *Destination that asks
	// held says who has it: a place in the spec, the generated package (no
	// place), or nobody: the name is too long.
	held *declaration
}

// declaration says what holds a Go name.
type declaration struct {
	what    string // `event "order.created"`
	pos     Pos    // zero: the generated package itself
	subject any
}

// Clashes gives what has to be called otherwise in Go: each is a *Destination,
// *Type, *Event, *Field or *EnumValue of the spec whose Go name, or one made of
// it, is taken or too long.
func Clashes(s *Spec) []any {
	var out []any
	for _, c := range s.clashes() {
		out = append(out, c.subject)
	}
	return out
}

// scope is one namespace of the generated code.
type scope struct {
	names   map[string]declaration
	clashes *[]clash
}

func newScope(clashes *[]clash, reserved []string, what string) *scope {
	s := &scope{make(map[string]declaration, len(reserved)), clashes}
	for _, name := range reserved {
		s.names[name] = declaration{what: what}
	}
	return s
}

// declare gives the name to what, or notes who holds it and answers false.
func (s *scope) declare(name, what string, pos Pos, subject any) bool {
	if utf8.RuneCountInString(name) > MaxGoName {
		*s.clashes = append(*s.clashes, clash{name, what, pos, subject, nil})
		return false
	}
	held, taken := s.names[name]
	if !taken {
		s.names[name] = declaration{what, pos, subject}
		return true
	}
	if held.pos.File == pos.File && pos.Compare(held.pos) < 0 {
		// Of two in a file the later one is told of the earlier one.
		s.names[name] = declaration{what, pos, subject}
		held, what, pos, subject = declaration{what, pos, subject}, held.what, held.pos, held.subject
	}
	*s.clashes = append(*s.clashes, clash{name, what, pos, subject, &held})
	return false
}

// clashes declares every Go name of the generated package in its scope.
func (s *Spec) clashes() []clash {
	var clashes []clash
	pkg := newScope(&clashes, packageNames, "declared by the generated package itself")
	for _, d := range s.Destinations {
		what := fmt.Sprintf("destination %q", d.Name)
		for _, name := range []string{d.OptionName(), d.HandlerName(), d.ReceiverName(), d.NewReceiverName()} {
			if !pkg.declare(name, what, d.Pos, d) {
				break
			}
		}
	}
	for _, t := range s.Types {
		what := fmt.Sprintf("type %q", t.Name)
		if pkg.declare(t.GoName, what, t.Pos, t) {
			pkg.declareValues(t.Enum, what)
		}
		pkg.declareFields(t.Fields, what)
	}
	methods := newScope(&clashes, nil, "")
	for _, e := range s.Events {
		what := fmt.Sprintf("event %q", e.Key())
		if pkg.declare(e.GoName, what, e.Pos, e) {
			methods.declare(e.InsertName(), what, e.Pos, e)
			methods.declare(e.InsertBatchName(), what, e.Pos, e)
		}
		pkg.declareFields(e.Fields, what)
	}
	return clashes
}

// declareFields declares the fields of one struct, in a scope of their own, and
// their enums in the package.
func (s *scope) declareFields(fields []*Field, owner string) {
	members := newScope(s.clashes, structMethods, "a method of the generated struct")
	for _, f := range fields {
		members.declare(f.GoName, fmt.Sprintf("field %q", f.Name), f.Pos, f)
		if e := f.Type.InlineEnum(); e != nil {
			what := fmt.Sprintf("the enum of field %q of %s", f.Name, owner)
			if s.declare(e.GoName, what, f.Pos, f) {
				s.declareValues(e.Values, what)
			}
		}
	}
}

func (s *scope) declareValues(values []*EnumValue, owner string) {
	for _, v := range values {
		s.declare(v.GoName, fmt.Sprintf("value %q of %s", v.Value, owner), v.Pos, v)
	}
}

// InlineEnum is the enum that stands in the type, at whatever depth; nil when
// there is none.
func (t *TypeRef) InlineEnum() *Enum {
	for t != nil {
		switch {
		case t.Enum != nil:
			return t.Enum
		case t.List != nil:
			t = t.List.Type
		case t.Map != nil:
			t = t.Map.Type
		default:
			return nil
		}
	}
	return nil
}
