package emit

import (
	"github.com/dave/jennifer/jen"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// How a field's four cases look in Go:
//
//	required             T
//	optional             *T; a list, map, bytes or json is nil when absent
//	nullable             *T; a list, map, bytes or json is nil for null
//	optional, nullable   outbox.Optional[T]

// fieldType is the Go type of a struct's field.
func (g *generator) fieldType(owner *spec.Type, f *spec.Field) *jen.Statement {
	base := g.baseType(f.Type, f.GoType)
	switch {
	case f.Optional && f.Nullable && g.recursive(owner, f):
		return jen.Qual(outboxPath, "Optional").Types(jen.Op("*").Add(base))
	case f.Optional && f.Nullable:
		return jen.Qual(outboxPath, "Optional").Types(base)
	case (f.Optional || f.Nullable) && !hasNil(f.Type, f.GoType):
		return jen.Op("*").Add(base)
	}
	return base
}

// elementType is the Go type of what a list or map holds.
func (g *generator) elementType(e *spec.Element) *jen.Statement {
	base := g.baseType(e.Type, e.GoType)
	if e.Nullable && !hasNil(e.Type, e.GoType) {
		return jen.Op("*").Add(base)
	}
	return base
}

// baseType is the Go type of a value that is there.
func (g *generator) baseType(t *spec.TypeRef, own *spec.GoType) *jen.Statement {
	if own != nil {
		return ownType(own)
	}
	switch {
	case t.Named != nil:
		return jen.Id(t.Named.GoName)
	case t.Enum != nil:
		return jen.Id(t.Enum.GoName)
	case t.List != nil:
		return jen.Index().Add(g.elementType(t.List))
	case t.Map != nil:
		return jen.Map(jen.String()).Add(g.elementType(t.Map))
	}
	switch t.Scalar {
	case spec.Bool:
		return jen.Bool()
	case spec.Float:
		return jen.Float64()
	case spec.Int, spec.Int64:
		return jen.Int64()
	case spec.Decimal:
		return jen.Qual(decimalPath, "Decimal")
	case spec.Timestamp:
		return jen.Qual("time", "Time")
	case spec.Date:
		return jen.Qual(outboxPath, "Date")
	case spec.Duration:
		return jen.Qual("time", "Duration")
	case spec.UUID:
		return jen.Qual(uuidPath, "UUID")
	case spec.Bytes:
		return jen.Index().Byte()
	case spec.JSON:
		return jen.Qual("encoding/json", "RawMessage")
	}
	return jen.String()
}

func ownType(own *spec.GoType) *jen.Statement {
	if own.ImportPath == "" {
		return jen.Id(own.Name)
	}
	return jen.Qual(own.ImportPath, own.Name)
}

// hasNil reports Go types whose nil says that there is no value.
func hasNil(t *spec.TypeRef, own *spec.GoType) bool {
	return own == nil && (t.List != nil || t.Map != nil || t.Scalar == spec.Bytes || t.Scalar == spec.JSON)
}

// recursive reports a field that holds its owner again, at once or deeper: it
// needs a pointer where its Go type would hold a value.
func (g *generator) recursive(owner *spec.Type, f *spec.Field) bool {
	return isStruct(f.Type) && g.cycles.together(owner, f.Type.Named)
}

// isStruct reports a reference to a named struct type.
func isStruct(t *spec.TypeRef) bool { return t.Named != nil && len(t.Named.Enum) == 0 }

// isScalar reports what is written with one call.
func isScalar(t *spec.TypeRef) bool { return t.Scalar != "" || enumName(t) != "" }

// enumName is the Go name of the enum that t is, or "".
func enumName(t *spec.TypeRef) string {
	switch {
	case t.Enum != nil:
		return t.Enum.GoName
	case t.Named != nil && len(t.Named.Enum) > 0:
		return t.Named.GoName
	}
	return ""
}
