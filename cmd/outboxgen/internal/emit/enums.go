package emit

import (
	"github.com/dave/jennifer/jen"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// emitEnum writes an enum: a string type, its values as constants, and Valid.
func emitEnum(f *jen.File, goName string, paragraphs []string, values []*spec.EnumValue) {
	f.Add(doc(paragraphs...))
	f.Type().Id(goName).String()
	f.Line()
	f.Comment("// The values of " + goName + ".")
	f.Const().DefsFunc(func(defs *jen.Group) {
		for i, v := range values {
			if lines := comment(sentence(v.Doc), deprecation(v.Deprecated)); lines != nil {
				if i > 0 {
					defs.Line()
				}
				for _, line := range lines {
					defs.Comment(line)
				}
			}
			defs.Id(v.GoName).Id(goName).Op("=").Add(textLit(v.Value))
		}
	})
	f.Line()
	f.Comment("// Valid reports whether v is one of the values above.")
	f.Func().Params(jen.Id("v").Id(goName)).Id("Valid").Params().Bool().Block(
		jen.Switch(jen.Id("v")).Block(
			jen.CaseFunc(func(c *jen.Group) {
				for _, v := range values {
					c.Id(v.GoName)
				}
			}).Block(jen.Return(jen.True())),
		),
		jen.Return(jen.False()),
	)
	f.Line()
}
