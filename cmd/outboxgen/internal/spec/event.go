package spec

// readEvents reads the bodies of the events.
func (l *loader) readEvents() {
	for _, b := range l.eventBodies {
		if m, ok := l.mapping(b.node, b.e.Pos, &eventObject, b.what); ok {
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
	e.IgnoreDup = l.onDuplicate(m, l.defaults.ignore)
	if n, ok := m.get("examples"); ok {
		l.eventExamples(n, m.in("examples"), e)
	}
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

func (l *loader) onDuplicate(m mapping, fallback bool) (ignore bool) {
	n, ok := m.get("on_duplicate")
	if !ok {
		return fallback
	}
	word, _ := l.word(n, m.in("on_duplicate"), "error", "ignore")
	return word == "ignore"
}

func (l *loader) onDeadLetter(m mapping, fallback bool) (hold bool) {
	n, ok := m.get("on_dead_letter")
	if !ok {
		return fallback
	}
	word, _ := l.word(n, m.in("on_dead_letter"), "continue", "hold")
	return word == "hold"
}

func (l *loader) routes(e *Event, m mapping) {
	destinations := l.defaults.to
	if n, ok := m.get("to"); ok {
		destinations = l.to(n)
	} else if !l.defaults.hasTo {
		l.errorf(m.at, ruleMissingKey, "the names of its destinations, as in to: [billing]; to: [] only stores it", "%s has no %q, and defaults have none", m.what, "to")
	}
	hold := l.onDeadLetter(m, l.defaults.hold)
	_, keyed := m.get("ordering_key")
	if n, own := m.get("on_dead_letter"); own && hold && !keyed {
		l.warnf(n.pos(), ruleHoldWithoutKey, "give it an ordering_key", "%s holds nothing back: it has no ordering key", m.what)
	}
	for _, d := range destinations {
		e.To = append(e.To, &Route{Destination: d, Hold: hold})
	}
}

// to reads a list of destinations.
func (l *loader) to(n node) []*Destination {
	names, ok := l.list(n, "to")
	if !ok {
		return nil
	}
	var out []*Destination
	seen := map[string]bool{}
	for _, n := range names {
		name, ok := l.filled(n, "to")
		if !ok {
			continue
		}
		d, known := l.destinations[name]
		switch {
		case seen[name]:
			l.errorf(n.pos(), ruleTwice, "", "to has %q twice", name)
		case !known:
			l.errorf(n.pos(), ruleUnknownDestination, l.didYouMean(name, l.destinationNames()), "to: unknown destination %q", name)
		default:
			out = append(out, d)
		}
		seen[name] = true
	}
	return out
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
	l.errorf(n.pos(), ruleUnknownField, l.didYouMean(name, names), "%s: event %q has no field %q", what, e.Key(), name)
	return nil
}
