package emit

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// insert makes insert.gen.go: an insert per event, and what the runtime knows
// of each event.
func (g *generator) insert() *jen.File {
	f := g.file()
	f.Comment("// The runtime that this code was generated for.")
	f.Const().Id("_").Op("=").Qual(outboxPath, "EnforceVersion1")
	f.Line()
	f.Comment("// Outbox inserts events inside the caller's transaction. Tx is the type of the")
	f.Comment("// store's transactions.")
	f.Type().Id("Outbox").Types(txParam()).Struct(
		jen.Id("store").Qual(outboxPath, "Inserter").Types(jen.Id("Tx")),
	)
	f.Line()
	f.Comment("// New returns an outbox that writes to store.")
	f.Func().Id("New").Types(txParam()).Params(jen.Id("store").Qual(outboxPath, "Inserter").Types(jen.Id("Tx"))).Op("*").Add(outboxType()).Block(
		jen.Return(jen.Op("&").Add(outboxType()).Values(jen.Id("store").Op(":").Id("store"))),
	)
	f.Line()
	for _, e := range g.spec.Events {
		g.emitInsert(f, e)
		g.emitInsertBatch(f, e)
		g.emitDraft(f, e)
		g.emitDefinition(f, e)
	}
	return f
}

func txParam() jen.Code { return jen.Id("Tx").Any() }

func outboxType() *jen.Statement { return jen.Id("Outbox").Types(jen.Id("Tx")) }

// insertMethod starts a method of the outbox that takes what to insert.
func insertMethod(f *jen.File, name string, event, result jen.Code) *jen.Statement {
	return f.Func().Params(jen.Id("o").Op("*").Add(outboxType())).Id(name).
		Params(jen.Id("ctx").Qual("context", "Context"), jen.Id("tx").Id("Tx"), event).
		Params(result, jen.Error())
}

func (g *generator) emitInsert(f *jen.File, e *spec.Event) {
	f.Add(doc(insertDoc(e), duplicateDoc(e), deprecation(e.Deprecated)))
	receipt := jen.Qual(outboxPath, "Receipt")
	insertMethod(f, e.InsertName(), jen.Id("e").Id(e.GoName), receipt.Clone()).Block(
		jen.List(jen.Id("d"), jen.Err()).Op(":=").Id("draft"+e.GoName).Call(jen.Op("&").Id("e")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(receipt.Clone().Values(), jen.Err())),
		jen.Return(jen.Qual(outboxPath, "InsertEvent").Call(
			jen.Id("ctx"), jen.Id("o").Dot("store"), jen.Id("tx"), jen.Op("&").Id("definition"+e.GoName),
			jen.Id("d").Dot("OrderingKey"), jen.Id("d").Dot("Payload"))),
	)
	f.Line()
}

func insertDoc(e *spec.Event) string {
	s := fmt.Sprintf("%s inserts one %s event in tx.", e.InsertName(), e.Name)
	if e.OrderingKey != nil {
		s += fmt.Sprintf(" Events with the same %s are delivered in order.", e.OrderingKey.GoName)
	}
	return s
}

// duplicateDoc says when a second insert is the same event.
func duplicateDoc(e *spec.Event) string {
	var same string
	switch e.Idempotency.Mode {
	case "event":
		return "Each insert is an event of its own."
	case "payload":
		same = "An event with an equal payload is the same event"
	default:
		var names []string
		for _, f := range e.Idempotency.Fields {
			names = append(names, f.GoName)
		}
		same = fmt.Sprintf("An event with the same %s is the same event", enumeration(names))
	}
	if e.IgnoreDup {
		return same + ": inserting it again changes nothing, and the receipt says Duplicate."
	}
	return same + ": inserting it again changes nothing and fails with an *outbox.DuplicateError."
}

// enumeration is "A, B and C".
func enumeration(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func (g *generator) emitInsertBatch(f *jen.File, e *spec.Event) {
	text := fmt.Sprintf("%s inserts all of es in tx, or none of them, and answers a receipt for each. A failure is an *outbox.BatchError that names the event's index.", e.InsertBatchName())
	f.Add(doc(text, deprecation(e.Deprecated)))
	insertMethod(f, e.InsertBatchName(), jen.Id("es").Index().Id(e.GoName), jen.Index().Qual(outboxPath, "Receipt")).Block(
		jen.Id("drafts").Op(":=").Make(jen.Index().Qual(outboxPath, "Draft"), jen.Len(jen.Id("es"))),
		jen.For(jen.Id("i").Op(":=").Range().Id("es")).Block(
			jen.List(jen.Id("d"), jen.Err()).Op(":=").Id("draft"+e.GoName).Call(jen.Op("&").Id("es").Index(jen.Id("i"))),
			jen.If(jen.Err().Op("!=").Nil()).Block(
				jen.Return(jen.Nil(), jen.Op("&").Qual(outboxPath, "BatchError").Values(jen.Id("Index").Op(":").Id("i"), jen.Id("Err").Op(":").Err())),
			),
			jen.Id("drafts").Index(jen.Id("i")).Op("=").Id("d"),
		),
		jen.Return(jen.Qual(outboxPath, "InsertEvents").Call(
			jen.Id("ctx"), jen.Id("o").Dot("store"), jen.Id("tx"), jen.Op("&").Id("definition"+e.GoName), jen.Id("drafts"))),
	)
	f.Line()
}

// emitDraft writes the function that makes an event's bytes and ordering key.
func (g *generator) emitDraft(f *jen.File, e *spec.Event) {
	draft := jen.Qual(outboxPath, "Draft")
	fail := func() *jen.Statement {
		return jen.If(jen.Err().Op("!=").Nil()).Block(
			jen.Return(draft.Clone().Values(), jen.Qual("fmt", "Errorf").Call(textLit("insert "+percent(e.Name)+": %w"), jen.Err())),
		)
	}
	f.Add(doc(fmt.Sprintf("draft%s checks e and writes it.", e.GoName)))
	f.Func().Id("draft"+e.GoName).Params(jen.Id("e").Op("*").Id(e.GoName)).Params(draft.Clone(), jen.Error()).BlockFunc(func(body *jen.Group) {
		body.List(jen.Id("body"), jen.Err()).Op(":=").Id("e").Dot("AppendCanonical").Call(jen.Nil())
		body.Add(fail())
		members := []jen.Code{jen.Id("Payload").Op(":").Id("body")}
		if e.OrderingKey != nil {
			members = append([]jen.Code{jen.Id("OrderingKey").Op(":").Add(g.orderingKey(body, e, fail))}, members...)
		}
		body.Return(draft.Clone().Values(members...), jen.Nil())
	})
	f.Line()
}

// percent keeps a text from being a verb of fmt.
func percent(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// orderingKey writes what the text of the ordering key needs, and returns the
// expression.
func (g *generator) orderingKey(body *jen.Group, e *spec.Event, fail func() *jen.Statement) *jen.Statement {
	f := e.OrderingKey
	selector := func() *jen.Statement { return jen.Id("e").Dot(f.GoName) }
	text, fallible := g.keyText(f, variable(selector))
	if !f.Optional && !f.Nullable {
		if !fallible {
			return text
		}
		body.List(jen.Id("key"), jen.Err()).Op(":=").Add(text)
		body.Add(fail())
		return jen.Id("key")
	}

	present := func(v operand) func(*jen.Group) {
		return func(then *jen.Group) {
			text, fallible := g.keyText(f, v)
			if !fallible {
				then.Id("key").Op("=").Add(text)
				return
			}
			then.List(jen.Id("key"), jen.Err()).Op("=").Add(text)
			then.Add(fail())
		}
	}
	body.Var().Id("key").String().Comment("// none when the field is not set")
	if f.Optional && f.Nullable {
		body.If(jen.List(jen.Id("v"), jen.Id("ok")).Op(":=").Add(selector()).Dot("Get").Call(), jen.Id("ok")).
			BlockFunc(present(variable(id("v"))))
	} else {
		v := pointerVariable(selector)
		if hasNil(f.Type, f.GoType) {
			v = variable(selector)
		}
		body.If(selector().Op("!=").Nil()).BlockFunc(present(v))
	}
	return jen.Id("key")
}

// keyText is the text of a value as an ordering key, and whether the
// expression has an error too.
func (g *generator) keyText(f *spec.Field, v operand) (text *jen.Statement, fallible bool) {
	if f.GoType != nil {
		return jen.Qual(payloadPath, "OwnText").Call(v.pointer()), true
	}
	if enumName(f.Type) != "" {
		return jen.String().Call(v.value()), false
	}
	switch f.Type.Scalar {
	case spec.String:
		return v.value(), false
	case spec.Int, spec.Int64:
		return jen.Qual("strconv", "FormatInt").Call(v.value(), jen.Lit(10)), false
	case spec.Bool:
		return jen.Qual("strconv", "FormatBool").Call(v.value()), false
	case spec.UUID, spec.Duration, spec.Date:
		return v.selector().Dot("String").Call(), false
	case spec.Decimal:
		return jen.Qual(decimaltextPath, "Text").Call(v.value()), true
	case spec.Timestamp:
		return v.selector().Dot("UTC").Call().Dot("Format").Call(jen.Qual("time", "RFC3339Nano")), false
	case spec.Bytes:
		return jen.Qual("encoding/base64", "StdEncoding").Dot("EncodeToString").Call(v.value()), false
	}
	g.check(fmt.Errorf("field %s of type %s cannot be an ordering key", f.Name, f.Type.Scalar))
	return jen.Null(), false
}

// emitDefinition writes what the runtime knows of an event.
func (g *generator) emitDefinition(f *jen.File, e *spec.Event) {
	members := []jen.Code{
		jen.Id("Source").Op(":").Add(textLit(g.spec.Source)),
		jen.Id("Type").Op(":").Add(textLit(e.Name)),
		jen.Id("Version").Op(":").Lit(e.Version),
		jen.Id("Idempotency").Op(":").Add(policy(e)),
	}
	if e.IgnoreDup {
		members = append(members, jen.Id("IgnoreDuplicate").Op(":").True())
	}
	if len(e.To) > 0 {
		var routes []jen.Code
		for _, r := range e.To {
			route := []jen.Code{jen.Id("Destination").Op(":").Add(textLit(r.Destination.Name))}
			if r.Hold {
				route = append(route, jen.Id("Hold").Op(":").True())
			}
			routes = append(routes, jen.Values(route...))
		}
		members = append(members, jen.Id("Routes").Op(":").Index().Qual(outboxPath, "Route").Custom(multiline, routes...))
	}
	f.Add(doc(fmt.Sprintf("definition%s is what the outbox knows of %s.", e.GoName, e.Name)))
	f.Var().Id("definition"+e.GoName).Op("=").Qual(outboxPath, "Definition").Custom(multiline, members...)
	f.Line()
}

// policy is an event's idempotency as canonical.Policy.
func policy(e *spec.Event) *jen.Statement {
	mode := func(name string, more ...jen.Code) *jen.Statement {
		return jen.Qual(canonicalPath, "Policy").Values(append([]jen.Code{jen.Id("Mode").Op(":").Qual(canonicalPath, name)}, more...)...)
	}
	switch e.Idempotency.Mode {
	case "event":
		return mode("ByEvent")
	case "payload":
		return mode("ByPayload")
	}
	var names []jen.Code
	for _, f := range e.Idempotency.Fields {
		names = append(names, textLit(f.Name))
	}
	return mode("ByFields", jen.Id("Fields").Op(":").Index().String().Values(names...))
}
