package emit

import (
	"github.com/dave/jennifer/jen"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// emitRead writes the function that makes a struct of a payload.Value.
func (g *generator) emitRead(f *jen.File, t structType) {
	f.Func().Id("read" + t.goName).Params(valueParam()).Id(t.goName).BlockFunc(func(body *jen.Group) {
		if len(t.fields) == 0 {
			body.Id("v").Dot("Object").Call().Dot("End").Call()
			body.Return(jen.Id(t.goName).Values())
			return
		}
		body.Id("o").Op(":=").Id("v").Dot("Object").Call()
		var members []jen.Code
		for _, field := range canonicalOrder(t.fields) {
			members = append(members, jen.Id(field.GoName).Op(":").Add(g.readField(t.named, field)))
		}
		body.Id("e").Op(":=").Id(t.goName).Custom(multiline, members...)
		body.Id("o").Dot("End").Call()
		body.Return(jen.Id("e"))
	})
	f.Line()
}

// multiline is a composite literal with a line for each element.
var multiline = jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}

func valueParam() jen.Code { return jen.Id("v").Qual(payloadPath, "Value") }

// readField is the expression that reads a field of the object o.
func (g *generator) readField(owner *spec.Type, f *spec.Field) *jen.Statement {
	member := func(method string) *jen.Statement { return jen.Id("o").Dot(method).Call(textLit(f.Name)) }
	switch {
	case f.Optional && f.Nullable && g.recursive(owner, f):
		return jen.Qual(payloadPath, "Optional").Call(member("Optional"), g.pointerFunc(f.Type, f.GoType))
	case f.Optional && f.Nullable:
		return jen.Qual(payloadPath, "Optional").Call(member("Optional"), g.readFunc(f.Type, f.GoType))
	case f.Optional:
		return g.readNilable(member("Optional"), f.Type, f.GoType)
	case f.Nullable:
		return g.readNilable(member("Required").Dot("OrNull").Call(), f.Type, f.GoType)
	}
	return g.read(member("Required"), f.Type, f.GoType)
}

// readNilable reads a value that may be absent into a type that has nil.
func (g *generator) readNilable(v *jen.Statement, t *spec.TypeRef, own *spec.GoType) *jen.Statement {
	if hasNil(t, own) {
		return g.read(v, t, own)
	}
	return jen.Qual(payloadPath, "Pointer").Call(v, g.readFunc(t, own))
}

// read is the expression that reads v as the type, which is a T.
func (g *generator) read(v *jen.Statement, t *spec.TypeRef, own *spec.GoType) *jen.Statement {
	switch {
	case own != nil:
		return jen.Qual(payloadPath, "FromWire").Types(ownType(own)).Call(v, g.readFunc(t, nil))
	case isStruct(t):
		return jen.Id("read" + t.Named.GoName).Call(v)
	case enumName(t) != "":
		return jen.Id(enumName(t)).Call(v.Dot("String").Call())
	case t.List != nil:
		return jen.Qual(payloadPath, "List").Call(v, g.elementFunc(t.List))
	case t.Map != nil:
		return jen.Qual(payloadPath, "Map").Call(v, g.elementFunc(t.Map))
	case t.Scalar == spec.Decimal:
		return jen.Qual(decimaltextPath, "Read").Call(v)
	}
	return v.Dot(scalarMethod[t.Scalar]).Call()
}

// readFunc is an expression of type func(payload.Value) T.
func (g *generator) readFunc(t *spec.TypeRef, own *spec.GoType) *jen.Statement {
	switch {
	case own != nil || t.List != nil || t.Map != nil || enumName(t) != "":
		return jen.Func().Params(valueParam()).Add(g.baseType(t, own)).Block(jen.Return(g.read(jen.Id("v"), t, own)))
	case isStruct(t):
		return jen.Id("read" + t.Named.GoName)
	case t.Scalar == spec.Decimal:
		return jen.Qual(decimaltextPath, "Read")
	}
	return jen.Qual(payloadPath, "Value").Dot(scalarMethod[t.Scalar])
}

// elementFunc is readFunc for what a list or a map holds.
func (g *generator) elementFunc(e *spec.Element) *jen.Statement {
	if !e.Nullable {
		return g.readFunc(e.Type, e.GoType)
	}
	return jen.Func().Params(valueParam()).Add(g.elementType(e)).Block(
		jen.Return(g.readNilable(jen.Id("v").Dot("OrNull").Call(), e.Type, e.GoType)),
	)
}

// pointerFunc is an expression of type func(payload.Value) *T.
func (g *generator) pointerFunc(t *spec.TypeRef, own *spec.GoType) *jen.Statement {
	return jen.Func().Params(valueParam()).Op("*").Add(g.baseType(t, own)).Block(
		jen.Return(jen.Qual(payloadPath, "Pointer").Call(jen.Id("v"), g.readFunc(t, own))),
	)
}
