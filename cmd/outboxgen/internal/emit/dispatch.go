package emit

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/dave/jennifer/jen"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// dispatch makes dispatch.gen.go: the handlers' interfaces, and the wiring of
// a dispatcher.
func (g *generator) dispatch() *jen.File {
	f := g.file()
	for _, d := range g.spec.Destinations {
		if d.Kind == spec.Handler {
			g.emitHandlerInterface(f, d)
		}
	}
	g.emitOptions(f)
	g.emitNewDispatcher(f)
	for _, d := range g.spec.Destinations {
		switch d.Kind {
		case spec.Handler:
			g.emitHandlerDestination(f, d)
			g.emitHandle(f, d)
			g.emitKnows(f, d)
		case spec.Publisher:
			g.emitPublisherDestination(f, d)
		case spec.Webhook:
			g.emitWebhookDestination(f, d)
		}
	}
	return f
}

// routed returns the events that go to d.
func (g *generator) routed(d *spec.Destination) []*spec.Event {
	var events []*spec.Event
	for _, e := range g.spec.Events {
		for _, r := range e.To {
			if r.Destination == d {
				events = append(events, e)
				break
			}
		}
	}
	return events
}

func eventMethodDoc(e *spec.Event, verb string) string {
	return fmt.Sprintf("%s %s %s, version %d.", e.GoName, verb, e.Name, e.Version)
}

func (g *generator) emitHandlerInterface(f *jen.File, d *spec.Destination) {
	f.Add(doc(
		fmt.Sprintf("%s handles the events that go to the destination %s.", d.HandlerName(), d.Name),
		sentence(d.Doc),
		"An attempt whose process ends before the outcome is recorded is made again: handle each event as one that may have been handled before. An error is a failed attempt; outbox.Permanent marks one that no retry will cure.",
	))
	f.Type().Id(d.HandlerName()).InterfaceFunc(func(methods *jen.Group) {
		for i, e := range g.routed(d) {
			if i > 0 {
				methods.Line()
			}
			methods.Add(doc(eventMethodDoc(e, "handles"), deprecation(e.Deprecated)))
			methods.Id(e.GoName).Params(ctxParam(), jen.Id("e").Id(e.GoName), jen.Id("d").Add(deliveryType())).Error()
		}
	})
	f.Line()
}

func ctxParam() jen.Code { return jen.Id("ctx").Qual("context", "Context") }

func deliveryType() *jen.Statement { return jen.Op("*").Qual(outboxPath, "Delivery") }

func configType(d *spec.Destination) *jen.Statement {
	if d.Kind == spec.Webhook {
		return jen.Qual(webhookPath, "Config")
	}
	return jen.Qual(outboxPath, "HandlerConfig")
}

func (g *generator) emitOptions(f *jen.File) {
	f.Comment("// DispatcherOption changes, for one process, what the spec says.")
	f.Type().Id("DispatcherOption").Func().Params(jen.Op("*").Id("dispatcherOptions"))
	f.Line()
	f.Type().Id("dispatcherOptions").StructFunc(func(s *jen.Group) {
		s.Id("config").Qual(outboxPath, "Config")
		for _, d := range g.spec.Destinations {
			s.Id("to" + d.GoName).Add(configType(d))
		}
	})
	f.Line()
	option := func(name, field, text string, config *jen.Statement) {
		f.Add(doc(text))
		f.Func().Id(name).Params(jen.Id("c").Add(config)).Id("DispatcherOption").Block(
			jen.Return(jen.Func().Params(jen.Id("o").Op("*").Id("dispatcherOptions")).Block(
				jen.Id("o").Dot(field).Op("=").Id("c"),
			)),
		)
		f.Line()
	}
	option("WithConfig", "config", "WithConfig sets what all destinations share. Zero fields keep the spec's value or the default.", jen.Qual(outboxPath, "Config"))
	for _, d := range g.spec.Destinations {
		text := fmt.Sprintf("%s configures the destination %s. Zero fields keep the spec's value.", d.OptionName(), d.Name)
		option(d.OptionName(), "to"+d.GoName, text, configType(d))
	}
}

// parameter is the name of a handler or publisher among NewDispatcher's
// parameters.
func (g *generator) parameters() map[*spec.Destination]string {
	names := map[*spec.Destination]string{}
	used := map[string]bool{}
	for _, p := range importPaths {
		used[p[strings.LastIndex(p, "/")+1:]] = true
	}
	for _, alias := range g.aliases {
		used[alias] = true
	}
	for _, d := range g.spec.Destinations {
		if d.Kind == spec.Webhook {
			continue
		}
		base := lowerInitial(d.GoName)
		name := base
		if used[name] || isReserved(name) {
			base += string(unicode.ToUpper(rune(d.Kind[0]))) + string(d.Kind[1:])
			name = base
		}
		for n := 2; used[name] || isReserved(name); n++ {
			name = base + strconv.Itoa(n)
		}
		used[name] = true
		names[d] = name
	}
	return names
}

// lowerInitial makes an exported name unexported: HTTPLog is httpLog.
func lowerInitial(name string) string {
	rs := []rune(name)
	upper := 0
	for upper < len(rs) && unicode.IsUpper(rs[upper]) {
		upper++
	}
	if upper > 1 && upper < len(rs) && unicode.IsLower(rs[upper]) {
		upper--
	}
	for i := range max(upper, 1) {
		rs[i] = unicode.ToLower(rs[i])
	}
	return string(rs)
}

func (g *generator) emitNewDispatcher(f *jen.File) {
	names := g.parameters()
	params := []jen.Code{jen.Id("store").Qual(outboxPath, "Store")}
	for _, d := range g.spec.Destinations {
		switch d.Kind {
		case spec.Handler:
			params = append(params, jen.Id(names[d]).Id(d.HandlerName()))
		case spec.Publisher:
			params = append(params, jen.Id(names[d]).Qual(outboxPath, "Publisher"))
		}
	}
	params = append(params, jen.Id("opts").Op("...").Id("DispatcherOption"))

	f.Add(doc("NewDispatcher returns a dispatcher that delivers the events in store to the destinations of the spec. Its error names everything that is wrong with the configuration, environment variables that are not set among it."))
	layout := jen.Options{Open: "(", Close: ")", Separator: ","}
	layout.Multi = len(params) > 4
	f.Func().Id("NewDispatcher").Custom(layout, params...).Params(jen.Op("*").Qual(outboxPath, "Dispatcher"), jen.Error()).BlockFunc(func(body *jen.Group) {
		body.Var().Id("o").Id("dispatcherOptions")
		body.For(jen.List(jen.Id("_"), jen.Id("opt")).Op(":=").Range().Id("opts")).Block(jen.Id("opt").Call(jen.Op("&").Id("o")))
		if g.spec.Retention != 0 {
			body.If(jen.Id("o").Dot("config").Dot("Retention").Op("==").Lit(0)).Block(
				jen.Id("o").Dot("config").Dot("Retention").Op("=").Add(durationLit(g.spec.Retention)),
			)
		}
		if len(g.spec.Destinations) == 0 {
			body.Return(jen.Qual(outboxPath, "NewDispatcher").Call(jen.Id("store"), jen.Nil(), jen.Id("o").Dot("config")))
			return
		}
		body.Line()
		body.Var().Id("destinations").Index().Qual(outboxPath, "Destination")
		body.Var().Id("errs").Index().Error()
		body.Id("add").Op(":=").Func().Params(jen.Id("d").Qual(outboxPath, "Destination"), jen.Err().Error()).Block(
			jen.Id("destinations").Op("=").Append(jen.Id("destinations"), jen.Id("d")),
			jen.Id("errs").Op("=").Append(jen.Id("errs"), jen.Err()),
		)
		for _, d := range g.spec.Destinations {
			args := []jen.Code{jen.Id("o").Dot("to" + d.GoName)}
			if name := names[d]; name != "" {
				args = append([]jen.Code{jen.Id(name)}, args...)
			}
			body.Id("add").Call(jen.Id("destination" + d.GoName).Call(args...))
		}
		body.If(jen.Err().Op(":=").Qual("errors", "Join").Call(jen.Id("errs").Op("...")), jen.Err().Op("!=").Nil()).Block(
			jen.Return(jen.Nil(), jen.Err()),
		)
		body.Return(jen.Qual(outboxPath, "NewDispatcher").Call(jen.Id("store"), jen.Id("destinations"), jen.Id("o").Dot("config")))
	})
	f.Line()
}

// policyFields is what the spec says of a destination's delivery, as fields of
// outbox.HandlerConfig or webhook.Config.
func policyFields(d *spec.Destination) []jen.Code {
	var fields []jen.Code
	add := func(name string, value *jen.Statement) { fields = append(fields, jen.Id(name).Op(":").Add(value)) }
	if d.Timeout != 0 {
		add("Timeout", durationLit(d.Timeout))
	}
	if d.MaxInFlight != 0 {
		add("MaxInFlight", jen.Lit(d.MaxInFlight))
	}
	var retry []jen.Code
	if d.Retry.MaxAttempts != 0 {
		retry = append(retry, jen.Id("MaxAttempts").Op(":").Lit(d.Retry.MaxAttempts))
	}
	if d.Retry.Base != 0 {
		retry = append(retry, jen.Id("Base").Op(":").Add(durationLit(d.Retry.Base)))
	}
	if d.Retry.Cap != 0 {
		retry = append(retry, jen.Id("Cap").Op(":").Add(durationLit(d.Retry.Cap)))
	}
	if retry != nil {
		add("Retry", jen.Qual(outboxPath, "RetryPolicy").Values(retry...))
	}
	if d.MaxAge != 0 {
		add("MaxAge", durationLit(d.MaxAge))
	}
	if d.Breaker.Off {
		add("NoBreaker", jen.True())
		return fields
	}
	var breaker []jen.Code
	if d.Breaker.FailureThreshold != 0 {
		breaker = append(breaker, jen.Id("FailureThreshold").Op(":").Lit(d.Breaker.FailureThreshold))
	}
	if d.Breaker.RecoveryTime != 0 {
		breaker = append(breaker, jen.Id("RecoveryTime").Op(":").Add(durationLit(d.Breaker.RecoveryTime)))
	}
	if d.Breaker.HalfOpenMaxCalls != 0 {
		breaker = append(breaker, jen.Id("HalfOpenMaxCalls").Op(":").Lit(d.Breaker.HalfOpenMaxCalls))
	}
	if breaker != nil {
		add("Breaker", jen.Qual(breakerPath, "Config").Values(breaker...))
	}
	return fields
}

// destinationFunc starts the function that makes a destination.
func destinationFunc(f *jen.File, d *spec.Destination, params ...jen.Code) *jen.Statement {
	return f.Func().Id("destination"+d.GoName).
		Params(append(params, jen.Id("c").Add(configType(d)))...).
		Params(jen.Qual(outboxPath, "Destination"), jen.Error())
}

// overridden is the configuration with the spec's values as defaults.
func overridden(d *spec.Destination, fields []jen.Code) *jen.Statement {
	return jen.Id("c").Dot("Or").Call(configType(d).Custom(multiline, fields...))
}

func (g *generator) emitHandlerDestination(f *jen.File, d *spec.Destination) {
	f.Add(doc(fmt.Sprintf("destination%s is %s as the spec has it, changed by c.", d.GoName, d.Name)))
	destinationFunc(f, d, jen.Id("h").Id(d.HandlerName())).Block(
		jen.If(jen.Id("h").Op("==").Nil()).Block(
			jen.Return(jen.Qual(outboxPath, "Destination").Values(), jen.Qual("errors", "New").Call(textLit("destination "+d.Name+": the handler is nil"))),
		),
		jen.Id("c").Op("=").Add(overridden(d, policyFields(d))),
		jen.List(jen.Id("d"), jen.Err()).Op(":=").Qual(outboxPath, "HandlerDestination").Call(textLit(d.Name), jen.Id("handle"+d.GoName).Call(jen.Id("h")), jen.Id("c")),
		jen.Id("d").Dot("Knows").Op("=").Id("knows"+d.GoName),
		jen.Return(jen.Id("d"), jen.Err()),
	)
	f.Line()
}

// emitHandle writes the function that decodes a delivery and calls the method
// for its type and version.
func (g *generator) emitHandle(f *jen.File, d *spec.Destination) {
	f.Func().Id("handle"+d.GoName).Params(jen.Id("h").Id(d.HandlerName())).Qual(outboxPath, "HandlerFunc").Block(
		jen.Return(jen.Func().Params(ctxParam(), jen.Id("d").Add(deliveryType())).Error().BlockFunc(func(body *jen.Group) {
			if events := g.routed(d); len(events) > 0 {
				body.Switch().BlockFunc(func(cases *jen.Group) {
					for _, e := range events {
						cases.Case(jen.Id("d").Dot("Type").Op("==").Add(textLit(e.Name)).Op("&&").Id("d").Dot("Version").Op("==").Lit(e.Version)).Block(
							jen.Var().Id("e").Id(e.GoName),
							jen.If(jen.Err().Op(":=").Id("e").Dot("UnmarshalJSON").Call(jen.Id("d").Dot("Payload")), jen.Err().Op("!=").Nil()).Block(
								jen.Return(jen.Qual(outboxPath, "Undecodable").Call(jen.Err())),
							),
							jen.Return(jen.Id("h").Dot(e.GoName).Call(jen.Id("ctx"), jen.Id("e"), jen.Id("d"))),
						)
					}
				})
			}
			body.Return(jen.Qual(outboxPath, "ErrUnknownEvent"))
		})),
	)
	f.Line()
}

// emitKnows writes the function that tells which types and versions a handler
// has a method for.
func (g *generator) emitKnows(f *jen.File, d *spec.Destination) {
	events := g.routed(d)
	params := []jen.Code{jen.Id("eventType").String(), jen.Id("version").Int()}
	if len(events) == 0 {
		params = []jen.Code{jen.String(), jen.Int()}
	}
	var names []string
	versions := map[string][]int{}
	for _, e := range events {
		if versions[e.Name] == nil {
			names = append(names, e.Name)
		}
		versions[e.Name] = append(versions[e.Name], e.Version)
	}
	f.Add(doc(fmt.Sprintf("knows%s reports the types and versions that %s has a method for.", d.GoName, d.HandlerName())))
	f.Func().Id("knows" + d.GoName).Params(params...).Bool().BlockFunc(func(body *jen.Group) {
		if len(names) > 0 {
			body.Switch(jen.Id("eventType")).BlockFunc(func(cases *jen.Group) {
				for _, name := range names {
					known := &jen.Statement{}
					for i, v := range versions[name] {
						if i > 0 {
							known.Op("||")
						}
						known.Id("version").Op("==").Lit(v)
					}
					cases.Case(textLit(name)).Block(jen.Return(known))
				}
			})
		}
		body.Return(jen.False())
	})
	f.Line()
}

func (g *generator) emitPublisherDestination(f *jen.File, d *spec.Destination) {
	f.Add(doc(fmt.Sprintf("destination%s is %s as the spec has it, changed by c.", d.GoName, d.Name)))
	destinationFunc(f, d, jen.Id("p").Qual(outboxPath, "Publisher")).Block(
		jen.Id("c").Op("=").Add(overridden(d, policyFields(d))),
		jen.Return(jen.Qual(outboxPath, "PublisherDestination").Call(textLit(d.Name), jen.Id("p"), jen.Id("c"))),
	)
	f.Line()
}

func (g *generator) emitWebhookDestination(f *jen.File, d *spec.Destination) {
	fields := []jen.Code{}
	add := func(name string, value *jen.Statement) { fields = append(fields, jen.Id(name).Op(":").Add(value)) }
	if o := d.Webhook; o != nil {
		add("URL", textLit(o.URL))
		if len(o.Secrets) > 0 {
			add("Secrets", stringsLit(o.Secrets))
		}
		if len(o.Headers) > 0 {
			var headers []jen.Code
			for _, h := range o.Headers {
				headers = append(headers, textLit(h.Name).Op(":").Add(textLit(h.Value)))
			}
			add("Headers", jen.Map(jen.String()).String().Custom(multiline, headers...))
		}
		if len(o.Allow) > 0 {
			add("Allow", stringsLit(o.Allow))
		}
		if o.QuotedIdempotency {
			add("QuotedIdempotencyKey", jen.True())
		}
	}
	add("Source", textLit(g.spec.Source))
	fields = append(fields, policyFields(d)...)
	f.Add(doc(fmt.Sprintf("destination%s is %s as the spec has it, changed by c.", d.GoName, d.Name)))
	destinationFunc(f, d).Block(
		jen.Id("c").Op("=").Add(overridden(d, fields)),
		jen.Id("c").Dot("Name").Op("=").Add(textLit(d.Name)),
		jen.Return(jen.Qual(webhookPath, "New").Call(jen.Id("c"))),
	)
	f.Line()
}

func stringsLit(values []string) *jen.Statement {
	var codes []jen.Code
	for _, v := range values {
		codes = append(codes, textLit(v))
	}
	return jen.Index().String().Values(codes...)
}
