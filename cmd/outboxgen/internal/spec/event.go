package spec

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

// readEvents reads the bodies of the events.
func (l *loader) readEvents() {
	for _, b := range l.eventBodies {
		if m, ok := l.mapping(b.node, &eventObject, b.what); ok {
			l.readEvent(b, m)
		}
	}
}

func (l *loader) readEvent(b eventBody, m mapping) {
	e := b.e
	l.describe(m, &e.Doc, &e.Deprecated)
	l.renameGo(m, &e.GoName)
	l.payloadVersion(b, m)
	if n, ok := m.get("fields"); ok {
		e.Fields = l.fields(n, m.what, e.GoName)
	}
	l.routes(e, m)
	if n, ok := m.get("ordering_key"); ok {
		e.OrderingKey = l.orderingKey(n, m, e)
	}
	l.idempotency(e, m)
	if n, ok := m.orDefault("on_duplicate", l.defaults.onDuplicate); ok {
		word, _ := l.word(n, "on_duplicate", "error", "ignore")
		e.IgnoreDup = word == "ignore"
	}
	if n, ok := m.get("examples"); ok {
		l.eventExamples(n, m.in("examples"), e)
	}
}

// orDefault gives the value of a key, or that of the defaults.
func (m mapping) orDefault(key string, fallback *node) (node, bool) {
	if n, ok := m.get(key); ok {
		return n, true
	}
	if fallback == nil {
		return node{}, false
	}
	return *fallback, true
}

func (l *loader) payloadVersion(b eventBody, m mapping) {
	n, ok := m.get("version")
	if !ok {
		return
	}
	version, ok := l.integer(n, m.in("version"), 1, maxVersion)
	switch {
	case !ok:
	case b.old && version != b.e.Version:
		l.errorf(n.pos(), ruleBadVersion, "leave version out", "%s: its name says version %d, version says %d", m.what, b.e.Version, version)
	default:
		b.e.Version = version
	}
}

func (l *loader) routes(e *Event, m mapping) {
	n, ok := m.orDefault("to", l.defaults.to)
	if !ok {
		l.errorf(m.pos(), ruleMissingKey, "the names of its destinations, as in to: [billing]; to: [] only stores it", "%s has no %q, and defaults have none", m.what, "to")
		return
	}
	hold := false
	if n, ok := m.orDefault("on_dead_letter", l.defaults.onDeadLetter); ok {
		word, _ := l.word(n, "on_dead_letter", "continue", "hold")
		hold = word == "hold"
	}
	if own, ok := m.get("on_dead_letter"); ok && hold {
		if _, keyed := m.get("ordering_key"); !keyed {
			l.warnf(own.pos(), ruleHoldWithoutKey, "give it an ordering_key", "%s holds nothing back: it has no ordering key", m.what)
		}
	}
	names, ok := l.list(n, "to")
	if !ok {
		return
	}
	for _, n := range names {
		name, ok := l.filled(n, "to")
		if !ok {
			continue
		}
		d, known := l.destinations[name]
		switch {
		case !known:
			l.errorf(n.pos(), ruleUnknownDestination, didYouMean(name, l.destinationNames()), "to: unknown destination %q", name)
		case slices.ContainsFunc(e.To, func(r *Route) bool { return r.Destination == d }):
			l.errorf(n.pos(), ruleTwice, "", "to has %q twice", name)
		default:
			e.To = append(e.To, &Route{Destination: d, Hold: hold})
		}
	}
}

func (l *loader) destinationNames() []string {
	names := make([]string, len(l.spec.Destinations))
	for i, d := range l.spec.Destinations {
		names[i] = d.Name
	}
	return names
}

func (l *loader) orderingKey(n node, m mapping, e *Event) *Field {
	name, ok := l.filled(n, m.in("ordering_key"))
	if !ok {
		return nil
	}
	f := l.member(n, name, "ordering_key", e)
	if f == nil || f.Type == nil {
		return nil
	}
	t := f.Type
	if t.List != nil || t.Map != nil || t.Scalar == JSON || t.Scalar == Float || t.Named != nil && len(t.Named.Enum) == 0 {
		l.errorf(n.pos(), ruleBadOrderingKey, "a string, uuid, number without fraction, date, time, bool or enum", "ordering_key %q is %s", name, describeType(t))
		return nil
	}
	if f.Optional || f.Nullable {
		l.warnf(n.pos(), ruleOptionalOrderingKey, "", "ordering_key %q may be absent: events without it are in no order", name)
	}
	return f
}

// member finds a top-level field by its wire name.
func (l *loader) member(n node, name, what string, e *Event) *Field {
	if e.Fields == nil {
		return nil // reported: the event has no readable fields
	}
	names := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		if f.Name == name {
			return f
		}
		names[i] = f.Name
	}
	l.errorf(n.pos(), ruleUnknownField, didYouMean(name, names), "%s: event %q has no field %q", what, e.Name, name)
	return nil
}

const idempotencyHint = "payload: equal payloads are one event; event: each insert is its own; [field, …]: the fields that identify the fact"

func (l *loader) idempotency(e *Event, m mapping) {
	n, ok := m.orDefault("idempotency", l.defaults.idempotency)
	if !ok {
		l.errorf(m.pos(), ruleMissingIdempotency, idempotencyHint, "%s does not say what makes two inserts one event: it has no %q, and defaults have none", m.what, "idempotency")
		return
	}
	if l.idempotencyMode(n, e) {
		return
	}
	nodes, ok := l.list(n, "idempotency")
	if !ok {
		return
	}
	if len(nodes) == 0 {
		l.errorf(n.pos(), ruleMissingValue, idempotencyHint, "idempotency is an empty list")
	}
	e.Idempotency.Mode = "fields"
	for _, n := range nodes {
		name, ok := l.filled(n, "idempotency")
		if !ok {
			continue
		}
		f := l.member(n, name, "idempotency", e)
		switch {
		case f == nil:
		case slices.Contains(e.Idempotency.Fields, f):
			l.errorf(n.pos(), ruleTwice, "", "idempotency has %q twice", name)
		default:
			e.Idempotency.Fields = append(e.Idempotency.Fields, f)
		}
	}
}

// idempotencyMode reads the one-word form, and reports whether it was one.
func (l *loader) idempotencyMode(n node, e *Event) bool {
	if n.Kind != yaml.ScalarNode || n.isNull() {
		return false
	}
	switch n.Value {
	case "payload", "event":
		e.Idempotency.Mode = n.Value
		return true
	}
	hint := idempotencyHint
	if slices.ContainsFunc(e.Fields, func(f *Field) bool { return f.Name == n.Value }) {
		hint = fmt.Sprintf("did you mean [%s]?", n.Value)
	}
	l.errorf(n.pos(), ruleBadWord, hint, "idempotency is %q, not payload, event or a list of fields", n.Value)
	return true
}
