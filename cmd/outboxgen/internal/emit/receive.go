package emit

import (
	"fmt"
	"time"

	"github.com/dave/jennifer/jen"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// receiving returns the destinations that somebody receives for: webhooks
// with events.
func (g *generator) receiving() []*spec.Destination {
	var ds []*spec.Destination
	for _, d := range g.spec.Destinations {
		if d.Kind == spec.Webhook && len(g.routed(d)) > 0 {
			ds = append(ds, d)
		}
	}
	return ds
}

// receive makes receive.gen.go: the typed receiver of each webhook
// destination.
func (g *generator) receive() *jen.File {
	f := g.file()
	for _, d := range g.receiving() {
		g.emitReceiverInterface(f, d)
		g.emitNewReceiver(f, d)
	}
	return f
}

func (g *generator) emitReceiverInterface(f *jen.File, d *spec.Destination) {
	f.Add(doc(
		fmt.Sprintf("%s applies the events that the destination %s receives. Its methods write through tx, in the transaction that also notes the event as applied: what they do there happens once. Keep them short: where the store has one writer, as SQLite has, they run one at a time.", d.ReceiverName(), d.Name),
		sentence(d.Doc),
		"An error rolls tx back and makes the sender try again; inbox.Reject marks an event that no retry will cure.",
	))
	f.Type().Id(d.ReceiverName()).Types(txParam()).InterfaceFunc(func(methods *jen.Group) {
		for i, e := range g.routed(d) {
			if i > 0 {
				methods.Line()
			}
			methods.Add(doc(eventMethodDoc(e, "applies"), deprecation(e.Deprecated)))
			methods.Id(e.GoName).Params(ctxParam(), jen.Id("tx").Id("Tx"), jen.Id("e").Id(e.GoName), jen.Id("m").Qual(inboxPath, "Message")).Error()
		}
	})
	f.Line()
}

func (g *generator) emitNewReceiver(f *jen.File, d *spec.Destination) {
	f.Add(doc(fmt.Sprintf("%s returns the handler of the requests that the destination %s sends: it verifies them, applies each event once, through r, and answers as the sender expects. Zero fields of cfg take the spec's values.", d.NewReceiverName(), d.Name)))
	f.Func().Id(d.NewReceiverName()).Types(txParam()).Params(
		jen.Id("store").Qual(inboxPath, "Store").Types(jen.Id("Tx")),
		jen.Id("r").Id(d.ReceiverName()).Types(jen.Id("Tx")),
		jen.Id("cfg").Qual(inboxPath, "Config"),
	).Params(jen.Op("*").Qual(inboxPath, "Receiver"), jen.Error()).BlockFunc(func(body *jen.Group) {
		body.If(jen.Id("r").Op("==").Nil()).Block(
			jen.Return(jen.Nil(), jen.Qual("errors", "New").Call(textLit("receiver "+d.Name+": the "+d.ReceiverName()+" is nil"))),
		)
		body.Id("cfg").Op("=").Id("cfg").Dot("Or").Call(jen.Qual(inboxPath, "Config").Custom(multiline, g.receiverDefaults(d)...))
		var events []jen.Code
		for _, e := range g.routed(d) {
			events = append(events, receivedEvent(e))
		}
		body.Id("events").Op(":=").Index().Qual(inboxPath, "EventType").Types(jen.Id("Tx")).Custom(multiline, events...)
		body.Return(jen.Qual(inboxPath, "NewReceiver").Call(jen.Id("store"), jen.Id("events"), jen.Id("cfg")))
	})
	f.Line()
}

func (g *generator) receiverDefaults(d *spec.Destination) []jen.Code {
	fields := []jen.Code{
		jen.Id("Consumer").Op(":").Add(textLit(d.Name)),
		jen.Id("Sources").Op(":").Add(stringsLit([]string{g.spec.Source})),
	}
	if d.Webhook != nil && len(d.Webhook.Secrets) > 0 {
		fields = append(fields, jen.Id("Secrets").Op(":").Add(stringsLit(d.Webhook.Secrets)))
	}
	if h := horizon(d); h > 0 {
		fields = append(fields, jen.Id("SenderHorizon").Op(":").Add(durationLit(h)))
	}
	return fields
}

// longestHorizon stands for anything that is longer.
const longestHorizon = 100 * 365 * 24 * time.Hour

// horizon is the longest time that the sender's policy lets pass between the
// first and the last attempt of a delivery, rounded up to hours: every wait at
// its longest and every attempt at its timeout, or max_age.
func horizon(d *spec.Destination) time.Duration {
	var sum time.Duration
	wait := d.Retry.Base
	for range d.Retry.MaxAttempts - 1 {
		wait = min(wait, d.Retry.Cap)
		sum += wait + d.Timeout
		if sum > longestHorizon || sum < 0 {
			sum = longestHorizon
			break
		}
		wait = min(wait, longestHorizon/2) * 2
	}
	if d.MaxAge > 0 {
		sum = min(sum, d.MaxAge)
	}
	return (sum + time.Hour - 1).Truncate(time.Hour)
}

// receivedEvent is an event's inbox.EventType.
func receivedEvent(e *spec.Event) jen.Code {
	apply := jen.Func().Params(ctxParam(), jen.Id("tx").Id("Tx"), jen.Id("body").Index().Byte(), jen.Id("m").Qual(inboxPath, "Message")).Error().Block(
		jen.Var().Id("e").Id(e.GoName),
		jen.If(jen.Err().Op(":=").Id("e").Dot("UnmarshalJSON").Call(jen.Id("body")), jen.Err().Op("!=").Nil()).Block(
			jen.Return(jen.Qual("fmt", "Errorf").Call(jen.Lit("%w: %w"), jen.Qual(inboxPath, "ErrUndecodable"), jen.Err())),
		),
		jen.Return(jen.Id("r").Dot(e.GoName).Call(jen.Id("ctx"), jen.Id("tx"), jen.Id("e"), jen.Id("m"))),
	)
	return jen.Custom(multiline,
		jen.Id("Type").Op(":").Add(textLit(e.Name)),
		jen.Id("Version").Op(":").Lit(e.Version),
		jen.Id("Idempotency").Op(":").Id("definition"+e.GoName).Dot("Idempotency"),
		jen.Id("Apply").Op(":").Add(apply),
	)
}
