package emit

import (
	"strconv"

	"github.com/dave/jennifer/jen"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// emitWrite writes the method that gives a struct's members to a
// payload.Writer in canonical order, and the patterns that it needs.
func (g *generator) emitWrite(f *jen.File, t structType) {
	w := &writing{g: g, owner: t}
	receiver := jen.Id("e")
	if len(t.fields) == 0 {
		receiver = jen.Null()
	}
	f.Func().Params(receiver.Op("*").Id(t.goName)).Id("write").Params(writerParam()).BlockFunc(func(body *jen.Group) {
		if g.cycles.in(t.named) {
			body.If(jen.Id("w").Dot("TooDeep").Call()).Block(jen.Return())
		}
		body.Id("w").Dot("Object").Call()
		for _, field := range canonicalOrder(t.fields) {
			w.field(body, field)
		}
		body.Id("w").Dot("EndObject").Call()
	})
	f.Line()
	for _, p := range w.patterns {
		f.Add(p)
		f.Line()
	}
}

func writerParam() jen.Code { return jen.Id("w").Op("*").Qual(payloadPath, "Writer") }

// writing is the making of one struct's write method.
type writing struct {
	g        *generator
	owner    structType
	patterns []jen.Code
}

// operand is a Go expression for a value to write. The functions make a new
// statement each time: jennifer's grow in place.
type operand struct {
	value    func() *jen.Statement // the value
	pointer  func() *jen.Statement // a pointer to it, for own types
	selector func() *jen.Statement // what its methods are called on
}

func variable(value func() *jen.Statement) operand {
	return operand{value: value, pointer: func() *jen.Statement { return jen.Op("&").Add(value()) }, selector: value}
}

func pointerVariable(pointer func() *jen.Statement) operand {
	return operand{value: func() *jen.Statement { return jen.Op("*").Add(pointer()) }, pointer: pointer, selector: pointer}
}

func id(name string) func() *jen.Statement { return func() *jen.Statement { return jen.Id(name) } }

// writer is the writer as it stands.
var writer = id("w")

// field writes the statements for one field, whichever of the four cases it
// is.
func (w *writing) field(body *jen.Group, f *spec.Field) {
	name := w.g.encodedName(f.Name)
	member := func() *jen.Statement { return jen.Id("w").Dot("Member").Call(name.Clone()) }
	selector := func() *jen.Statement { return jen.Id("e").Dot(f.GoName) }
	in := slot{ref: f.Type, own: f.GoType, rules: f.Rules, name: w.owner.goName + f.GoName}
	present := variable(selector)
	if (f.Optional || f.Nullable) && !hasNil(f.Type, f.GoType) {
		present = pointerVariable(selector)
	}
	switch {
	case f.Optional && f.Nullable:
		w.optionalNullable(body, f, in, member, selector)
	case f.Optional:
		body.If(selector().Op("!=").Nil()).BlockFunc(func(then *jen.Group) { w.value(then, member, present, in) })
	case f.Nullable:
		body.Add(member())
		w.orNull(body, selector, present, in)
	default:
		w.value(body, member, present, in)
	}
}

func (w *writing) optionalNullable(body *jen.Group, f *spec.Field, in slot, member, selector func() *jen.Statement) {
	value, some, unset := variable(id("v")), jen.Id("ok"), "IsNull"
	if w.g.recursive(w.owner.named, f) {
		// The option holds a pointer; a nil one is null too.
		value, some, unset = pointerVariable(id("v")), jen.Id("ok").Op("&&").Id("v").Op("!=").Nil(), "IsSet"
	}
	body.If(
		jen.List(jen.Id("v"), jen.Id("ok")).Op(":=").Add(selector()).Dot("Get").Call(),
		some,
	).BlockFunc(func(then *jen.Group) {
		w.value(then, member, value, in)
	}).Else().If(selector().Dot(unset).Call()).Block(member().Dot("Null").Call())
}

// orNull writes null for nil, and else the value. The member or element has
// been begun.
func (w *writing) orNull(body *jen.Group, nilable func() *jen.Statement, present operand, in slot) {
	body.If(nilable().Op("==").Nil()).Block(
		jen.Id("w").Dot("Null").Call(),
	).Else().BlockFunc(func(els *jen.Group) {
		w.value(els, writer, present, in)
	})
}

// slot is a place for values in the language: a field, or what a list or map
// holds.
type slot struct {
	ref   *spec.TypeRef
	own   *spec.GoType
	rules spec.Rules
	name  string // of the Go field, for the names of what belongs to it
	depth int    // of lists and maps around it
}

func (s slot) element(e *spec.Element) slot {
	return slot{ref: e.Type, own: e.GoType, rules: e.Rules, name: s.name + "Element", depth: s.depth + 1}
}

// local names a variable of a loop.
func (s slot) local(base string) string {
	if s.depth > 0 {
		base += strconv.Itoa(s.depth + 1)
	}
	return base
}

// value writes the statements for a value that is there. at is the writer
// where the value comes next.
func (w *writing) value(body *jen.Group, at func() *jen.Statement, v operand, in slot) {
	switch {
	case isStruct(in.ref):
		if at := at(); len(*at) > 1 {
			body.Add(at)
		}
		body.Add(v.selector()).Dot("write").Call(jen.Id("w"))
	case in.ref.List != nil:
		w.list(body, at, v, in)
	case in.ref.Map != nil:
		w.dictionary(body, at, v, in)
	default:
		body.Add(w.scalar(at, v, in))
	}
}

func (w *writing) list(body *jen.Group, at func() *jen.Statement, v operand, in slot) {
	w.open(body, at, v, in, "Array")
	e, elem := in.ref.List, in.element(in.ref.List)
	i, item := in.local("i"), in.local("v")
	element := func() *jen.Statement { return jen.Id("w").Dot("Element").Call(jen.Id(i)) }
	if isStruct(e.Type) && !e.Nullable {
		// Without a copy of each.
		indexed := func() *jen.Statement { return v.value().Index(jen.Id(i)) }
		body.For(jen.Id(i).Op(":=").Range().Add(v.value())).BlockFunc(func(loop *jen.Group) {
			w.value(loop, element, variable(indexed), elem)
		})
	} else {
		body.For(jen.List(jen.Id(i), jen.Id(item)).Op(":=").Range().Add(v.value())).BlockFunc(func(loop *jen.Group) {
			w.elementValue(loop, element, item, e, elem)
		})
	}
	body.Id("w").Dot("EndArray").Call()
}

func (w *writing) dictionary(body *jen.Group, at func() *jen.Statement, v operand, in slot) {
	w.open(body, at, v, in, "Object")
	e, elem := in.ref.Map, in.element(in.ref.Map)
	k, item := in.local("k"), in.local("v")
	key := func() *jen.Statement { return jen.Id("w").Dot("Key").Call(jen.Id(k)) }
	keys := jen.Qual(payloadPath, "Keys").Call(jen.Id("w"), v.value())
	body.For(jen.List(jen.Id("_"), jen.Id(k)).Op(":=").Range().Add(keys)).BlockFunc(func(loop *jen.Group) {
		indexed := func() *jen.Statement { return v.value().Index(jen.Id(k)) }
		if isScalar(e.Type) && !e.Nullable && e.GoType == nil {
			w.value(loop, key, variable(indexed), elem)
			return
		}
		loop.Id(item).Op(":=").Add(indexed())
		w.elementValue(loop, key, item, e, elem)
	})
	body.Id("w").Dot("EndObject").Call()
}

// elementValue writes the variable item, which holds an element.
func (w *writing) elementValue(loop *jen.Group, at func() *jen.Statement, item string, e *spec.Element, in slot) {
	switch {
	case !e.Nullable:
		w.value(loop, at, variable(id(item)), in)
	case hasNil(e.Type, e.GoType):
		loop.Add(at())
		w.orNull(loop, id(item), variable(id(item)), in)
	default:
		loop.Add(at())
		w.orNull(loop, id(item), pointerVariable(id(item)), in)
	}
}

// open begins a list or map, after the rules on its size.
func (w *writing) open(body *jen.Group, at func() *jen.Statement, v operand, in slot, method string) {
	if in.rules.MinItems == nil && in.rules.MaxItems == nil {
		body.Add(at()).Dot(method).Call()
		return
	}
	size := at().Dot("Size").Call(jen.Len(v.value()))
	if n := in.rules.MinItems; n != nil {
		size.Dot("Min").Call(jen.Lit(*n))
	}
	if n := in.rules.MaxItems; n != nil {
		size.Dot("Max").Call(jen.Lit(*n))
	}
	body.Add(size)
	body.Id("w").Dot(method).Call()
}

// scalar is the call that writes a scalar or an enum and checks its rules. A
// user's own type is turned into the spec's first.
func (w *writing) scalar(at func() *jen.Statement, v operand, in slot) *jen.Statement {
	value := v.value()
	if in.own != nil {
		value = jen.Qual(payloadPath, "ToWire").Call(jen.Id("w"), v.pointer(), w.g.readFunc(in.ref, nil))
	}
	if enumName(in.ref) != "" {
		return jen.Qual(payloadPath, "Enum").Call(at(), value, textLit(enumValues(in.ref)))
	}
	var call *jen.Statement
	if in.ref.Scalar == spec.Decimal {
		call = jen.Qual(decimaltextPath, "Write").Call(at(), value)
	} else {
		call = at().Dot(scalarMethod[in.ref.Scalar]).Call(value)
	}
	r := in.rules
	if r.Min != nil {
		call.Dot("Min").Call(w.g.bound(in.ref.Scalar, *r.Min))
	}
	if r.Max != nil {
		call.Dot("Max").Call(w.g.bound(in.ref.Scalar, *r.Max))
	}
	if r.MinLength != nil {
		call.Dot("MinLength").Call(jen.Lit(*r.MinLength))
	}
	if r.MaxLength != nil {
		call.Dot("MaxLength").Call(jen.Lit(*r.MaxLength))
	}
	if r.Pattern != "" {
		call.Dot("Pattern").Call(jen.Id(w.pattern(in.name, r.Pattern)).Call())
	}
	if r.Format != "" {
		call.Dot("Format").Call(jen.Qual(payloadPath, formats[r.Format]))
	}
	return call
}

// pattern declares a regular expression, compiled at its first use, and
// returns the name of the function that has it.
func (w *writing) pattern(owner, text string) string {
	name := w.g.unexported("pattern" + owner)
	w.patterns = append(w.patterns, jen.Var().Id(name).Op("=").Qual("sync", "OnceValue").Call(
		jen.Func().Params().Op("*").Qual("regexp", "Regexp").Block(
			jen.Return(jen.Qual("regexp", "MustCompile").Call(textLit(text))),
		),
	))
	return name
}

// scalarMethod is what payload.Writer and payload.Value call a scalar.
var scalarMethod = map[spec.Scalar]string{
	spec.String: "String", spec.Bool: "Bool", spec.Float: "Float", spec.Int: "Int", spec.Int64: "Int64",
	spec.Timestamp: "Time", spec.Date: "Date", spec.Duration: "Duration", spec.UUID: "UUID", spec.Bytes: "Bytes", spec.JSON: "JSON",
}
