package spec

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

const idempotencyHint = "payload: equal payloads are one event; event: each insert is its own; [field, …]: the fields that identify the fact"

// idempotencyChoice is what an event, or defaults, say of idempotency, before
// the fields are looked up.
type idempotencyChoice struct {
	mode   string
	fields []node
}

func (l *loader) idempotency(e *Event, m mapping) {
	choice := l.defaults.idempotency
	if n, ok := m.get("idempotency"); ok {
		choice = l.idempotencyChoice(n, e.Fields)
	} else if choice == nil {
		l.errorf(m.at, ruleMissingIdempotency, idempotencyHint, "%s does not say what makes two inserts one event: it has no %q, and defaults have none", m.what, "idempotency")
	}
	if choice == nil {
		return
	}
	e.Idempotency.Mode = choice.mode
	for _, n := range choice.fields {
		if f := l.member(n, n.Value, "idempotency", e); f != nil {
			e.Idempotency.Fields = append(e.Idempotency.Fields, f)
		}
	}
}

// idempotencyChoice reads payload, event or a list of names; fields are those
// of the event, for the hint.
func (l *loader) idempotencyChoice(n node, fields []*Field) *idempotencyChoice {
	if n.Kind == yaml.ScalarNode && !n.isNull() {
		if n.Value == "payload" || n.Value == "event" {
			return &idempotencyChoice{mode: n.Value}
		}
		hint := idempotencyHint
		if slices.ContainsFunc(fields, func(f *Field) bool { return f.Name == n.Value }) {
			hint = fmt.Sprintf("did you mean [%s]?", n.Value)
		}
		l.errorf(n.pos(), ruleBadWord, hint, "idempotency is %q, not payload, event or a list of fields", n.Value)
		return nil
	}
	nodes, ok := l.list(n, "idempotency")
	if !ok {
		return nil
	}
	if len(nodes) == 0 {
		l.errorf(n.pos(), ruleMissingValue, idempotencyHint, "idempotency is an empty list")
	}
	choice := &idempotencyChoice{mode: "fields"}
	for _, n := range nodes {
		name, ok := l.text(n, "idempotency")
		switch {
		case !ok:
		case slices.ContainsFunc(choice.fields, func(other node) bool { return other.Value == name }):
			l.errorf(n.pos(), ruleTwice, "", "idempotency has %q twice", name)
		default:
			choice.fields = append(choice.fields, n)
		}
	}
	return choice
}
