package emit

import (
	"regexp"
	"strconv"
	"strings"

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

// plainValue needs no quotes in a message.
var plainValue = regexp.MustCompile(`^[\pL\pN._:/+-]+$`)

// enumValues is how a message lists the values of an enum when they are few.
func enumValues(t *spec.TypeRef) string {
	const longest = 80
	var values []*spec.EnumValue
	if t.Enum != nil {
		values = t.Enum.Values
	} else {
		values = t.Named.Enum
	}
	texts := make([]string, len(values))
	for i, v := range values {
		if texts[i] = v.Value; !plainValue.MatchString(v.Value) {
			texts[i] = strconv.Quote(v.Value)
		}
	}
	if text := strings.Join(texts, ", "); len(text) <= longest {
		return text
	}
	return "the enum's values"
}
