package emit

import (
	"fmt"
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// asyncAPI makes the AsyncAPI 3.0.0 document of what leaves the service: a
// channel for each webhook and publisher, with the messages that go there.
// Handlers are within the service and not in it.
func (g *generator) asyncAPI() File {
	s := g.newSchemas("#/components/schemas/")
	messages, keys := g.messages(s)
	document := object{
		{"asyncapi", "3.0.0"},
		{"info", g.info()},
		{"defaultContentType", "application/json"},
		{"channels", g.channels(keys)},
		{"operations", g.operations(keys)},
	}
	components := object{{"messages", messages}}
	if defs := s.definitions(); len(defs) > 0 {
		components = components.with("schemas", defs)
	}
	document = document.with("components", components)

	name := g.spec.Outputs.AsyncAPI
	if strings.HasSuffix(name, ".json") {
		// There are no comments in JSON; an extension says it.
		document = append(document[:1:1], append(object{{"x-generated", marker}}, document[1:]...)...)
		content, err := encodeJSON(document)
		g.check(err)
		return File{name, content}
	}
	content, err := encodeYAML(document)
	g.check(err)
	return File{name, append([]byte("# "+marker+"\n"), content...)}
}

func (g *generator) info() object {
	o := object{
		{"title", "Events of " + g.spec.Source},
		{"version", "1"},
	}
	return o.withText("description", g.spec.Doc)
}

// outward are the destinations outside of the service.
func (g *generator) outward() []*spec.Destination {
	var ds []*spec.Destination
	for _, d := range g.spec.Destinations {
		if d.Kind != spec.Handler {
			ds = append(ds, d)
		}
	}
	return ds
}

func (g *generator) channels(keys map[*spec.Event]string) object {
	channels := object{}
	taken := map[string]bool{}
	for _, d := range g.outward() {
		messages := object{}
		for _, e := range g.routed(d) {
			messages = messages.with(keys[e], reference("#/components/messages/"+keys[e]))
		}
		// Where it goes is the deployment's to say.
		o := object{{"address", nil}, {"title", d.Name}}
		o = o.withText("description", d.Doc)
		channels = channels.with(uniqueKey(d.GoName, taken), o.with("messages", messages))
	}
	return channels
}

func (g *generator) operations(keys map[*spec.Event]string) object {
	operations := object{}
	taken := map[string]bool{}
	for _, d := range g.outward() {
		key := uniqueKey(d.GoName, taken)
		var messages []any
		for _, e := range g.routed(d) {
			messages = append(messages, reference("#/channels/"+key+"/messages/"+keys[e]))
		}
		o := object{{"action", "send"}, {"channel", reference("#/channels/" + key)}}
		if d.Kind == spec.Webhook {
			o = o.with("bindings", object{{"http", object{{"method", "POST"}, {"bindingVersion", "0.3.0"}}}})
		}
		if messages != nil {
			o = o.with("messages", messages)
		}
		operations = operations.with("send"+key, o)
	}
	return operations
}

func reference(to string) object { return object{{"$ref", to}} }

// messages are the events that leave the service, by their keys.
func (g *generator) messages(s *schemas) (object, map[*spec.Event]string) {
	leaves := map[*spec.Event]bool{}
	for _, d := range g.outward() {
		for _, e := range g.routed(d) {
			leaves[e] = true
		}
	}
	messages, keys, taken := object{}, map[*spec.Event]string{}, map[string]bool{}
	for _, e := range g.spec.Events {
		if !leaves[e] {
			continue
		}
		keys[e] = uniqueKey(e.GoName, taken)
		payload := s.event(e)
		o := object{{"name", e.Name}, {"title", fmt.Sprintf("%s, version %d", e.Name, e.Version)}}
		o = o.withText("description", messageDescription(e))
		o = append(o, object{{"contentType", "application/json"}, {"headers", headers(e)}, {"payload", payload}}...)
		messages = messages.with(keys[e], o)
	}
	return messages, keys
}

func messageDescription(e *spec.Event) string {
	parts := []string{sentence(e.Doc), sameness(e, func(f *spec.Field) string { return f.Name })}
	if e.OrderingKey != nil {
		parts = append(parts, fmt.Sprintf("Messages with the same %s are sent in order.", e.OrderingKey.Name))
	}
	if e.Deprecated != "" {
		parts = append(parts, deprecation(e.Deprecated))
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}

// sameness says what makes two messages one event.
func sameness(e *spec.Event, name func(*spec.Field) string) string {
	switch e.Idempotency.Mode {
	case "event":
		return "Each insert is an event of its own; a repeated delivery has the same Idempotency-Key."
	case "payload":
		return "Equal payloads are one event, with one Idempotency-Key."
	}
	var names []string
	for _, f := range e.Idempotency.Fields {
		names = append(names, name(f))
	}
	return fmt.Sprintf("The same %s is the same event, with one Idempotency-Key.", enumeration(names))
}

// headers is the schema of the headers that a webhook's request has.
func headers(e *spec.Event) object {
	text := func(description string) object { return object{{"type", "string"}, {"description", description}} }
	return object{
		{"type", "object"},
		{"properties", object{
			{"Idempotency-Key", object{{"type", "string"}, {"pattern", `^"?[0-9a-f]{64}"?$`}, {"description", "Names the fact; the same for every delivery of it."}}},
			{"X-Event-Id", object{{"type", "string"}, {"format", "uuid"}}},
			{"X-Event-Type", object{{"type", "string"}, {"const", e.Name}}},
			{"X-Event-Version", object{{"type", "string"}, {"const", fmt.Sprint(e.Version)}}},
			{"webhook-id", text("The Idempotency-Key (Standard Webhooks).")},
			{"webhook-timestamp", text("When this attempt was made, in seconds since 1970.")},
			{"webhook-signature", text("Signatures of id, timestamp and body, apart by spaces.")},
		}},
	}
}
