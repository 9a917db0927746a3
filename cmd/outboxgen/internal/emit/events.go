package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/outboxgen/outboxgen/runtime/canonical"
)

// structType is an event or a named struct type, as its Go code needs it.
type structType struct {
	goName string
	doc    []string // paragraphs
	fields []*spec.Field
	named  *spec.Type // nil for an event
}

// events makes events.gen.go: the types, their canonical form and its reading.
func (g *generator) events() *jen.File {
	f := g.file()
	for _, line := range g.packageComment() {
		f.PackageComment(line)
	}
	for _, e := range g.spec.Events {
		g.emitStruct(f, structType{e.GoName, eventDoc(e), e.Fields, nil})
	}
	for _, t := range g.spec.Types {
		paragraphs := []string{g.typeIntro(t), sentence(t.Doc), deprecation(t.Deprecated)}
		if len(t.Enum) > 0 {
			emitEnum(f, t.GoName, paragraphs, t.Enum)
			continue
		}
		g.emitStruct(f, structType{t.GoName, paragraphs, t.Fields, t})
	}
	return f
}

func (g *generator) packageComment() []string {
	intro := fmt.Sprintf("Package %s has the events of %s, typed: their payloads, their inserts into an outbox, and the wiring that delivers and receives them.",
		g.spec.Package, g.spec.Source)
	return comment(intro, sentence(g.spec.Doc))
}

func eventDoc(e *spec.Event) []string {
	intro := fmt.Sprintf("%s is the event %s, version %d.", e.GoName, e.Name, e.Version)
	return []string{intro, sentence(e.Doc), deprecation(e.Deprecated)}
}

// typeIntro says where a type is used.
func (g *generator) typeIntro(t *spec.Type) string {
	users := g.users[t]
	switch {
	case len(users) == 0:
		return fmt.Sprintf("%s is the type %s, which nothing uses yet.", t.GoName, t.Name)
	case len(users) > 3:
		return fmt.Sprintf("%s is used by %s and others.", t.GoName, strings.Join(users[:3], ", "))
	}
	return fmt.Sprintf("%s is used by %s.", t.GoName, enumeration(users))
}

func deprecation(text string) string {
	if text = strings.Join(strings.Fields(text), " "); text != "" {
		return "Deprecated: " + sentence(text)
	}
	return ""
}

func (g *generator) emitStruct(f *jen.File, t structType) {
	f.Add(doc(t.doc...))
	f.Type().Id(t.goName).StructFunc(func(s *jen.Group) { g.structFields(s, t) })
	f.Line()
	g.emitMethods(f, t)
	for _, field := range t.fields {
		if e := innermost(field.Type).Enum; e != nil {
			intro := fmt.Sprintf("%s is what the field %s of %s may hold.", e.GoName, field.GoName, t.goName)
			emitEnum(f, e.GoName, []string{intro}, e.Values)
		}
	}
}

// structFields writes the fields in the order of the spec: those with a
// comment stand apart.
func (g *generator) structFields(s *jen.Group, t structType) {
	spaced := false
	for i, f := range t.fields {
		lines := fieldDoc(f)
		if i > 0 && (spaced || lines != nil) {
			s.Line()
		}
		spaced = lines != nil
		for _, line := range lines {
			s.Comment(line)
		}
		s.Id(f.GoName).Add(g.fieldType(t.named, f))
	}
}

// emitMethods writes what every struct can do.
func (g *generator) emitMethods(f *jen.File, t structType) {
	value := jen.Id("e").Id(t.goName)
	pointer := jen.Id("e").Op("*").Id(t.goName)
	result := jen.Params(jen.Index().Byte(), jen.Error())

	f.Comment("// Validate reports every rule of the spec that e breaks, one a line.")
	f.Func().Params(value.Clone()).Id("Validate").Params().Error().Block(
		jen.List(jen.Id("_"), jen.Err()).Op(":=").Id("e").Dot("AppendCanonical").Call(jen.Nil()),
		jen.Return(jen.Err()),
	)
	f.Line()
	f.Comment("// AppendCanonical appends e as RFC 8785 text. An e that is not valid appends")
	f.Comment("// nothing; the error is that of Validate.")
	f.Func().Params(value.Clone()).Id("AppendCanonical").Params(jen.Id("dst").Index().Byte()).Add(result.Clone()).Block(
		jen.Id("w").Op(":=").Qual(payloadPath, "NewWriter").Call(jen.Id("dst")),
		jen.Id("e").Dot("write").Call(jen.Id("w")),
		jen.Return(jen.Id("w").Dot("Close").Call()),
	)
	f.Line()
	f.Comment("// MarshalJSON returns the text that AppendCanonical appends.")
	f.Func().Params(value.Clone()).Id("MarshalJSON").Params().Add(result.Clone()).Block(
		jen.Return(jen.Id("e").Dot("AppendCanonical").Call(jen.Nil())),
	)
	f.Line()
	f.Comment("// UnmarshalJSON reads what AppendCanonical wrote. Unknown members are ignored;")
	f.Comment("// the rules of the spec are left to Validate.")
	f.Func().Params(pointer.Clone()).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).Error().Block(
		jen.Return(jen.Qual(payloadPath, "Unmarshal").Call(jen.Id("data"), jen.Id("e"), jen.Id("read"+t.goName))),
	)
	f.Line()
	g.emitWrite(f, t)
	g.emitRead(f, t)
}

// canonicalOrder returns the fields in the order of their bytes.
func canonicalOrder(fields []*spec.Field) []*spec.Field {
	sorted := slices.Clone(fields)
	slices.SortFunc(sorted, func(a, b *spec.Field) int {
		switch {
		case canonical.Less(a.Name, b.Name):
			return -1
		case canonical.Less(b.Name, a.Name):
			return 1
		}
		return 0
	})
	return sorted
}
