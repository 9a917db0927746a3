package compat

import (
	"slices"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

func (c *comparison) events() {
	for _, old := range c.old.Events {
		if new := version(c.new, old.Name, old.Version); new != nil {
			c.event(old, new)
		} else if current := newest(c.new, old.Name); current != nil {
			c.add(versionRemoved, current.Pos, "event %q has no version %d any more", old.Name, old.Version)
		} else {
			c.add(eventRemoved, c.top(), "event %q is gone", old.Key())
		}
	}
	for _, new := range c.new.Events {
		switch {
		case version(c.old, new.Name, new.Version) != nil:
		case newest(c.old, new.Name) != nil:
			c.add(versionAdded, new.Pos, "event %q has a new version %d", new.Name, new.Version)
		default:
			c.add(eventAdded, new.Pos, "event %q is new", new.Key())
		}
	}
}

func version(s *spec.Spec, name string, version int) *spec.Event {
	for _, e := range s.Events {
		if e.Name == name && e.Version == version {
			return e
		}
	}
	return nil
}

func newest(s *spec.Spec, name string) *spec.Event {
	for _, e := range s.Events {
		if e.Name == name && e.Current {
			return e
		}
	}
	return nil
}

// event compares one version of an event with itself.
func (c *comparison) event(old, new *spec.Event) {
	// A version that another one has followed gives its Go names to it.
	followed := old.Current && !new.Current
	if !followed && old.GoName != new.GoName {
		c.add(eventRenamed, new.Pos, "event %q was %s in Go and is %s", new.Key(), old.GoName, new.GoName)
	}
	c.routes(old, new)
	c.orderingKey(old, new)
	if old.IgnoreDup != new.IgnoreDup {
		c.add(onDuplicateChanged, new.Pos, "event %q has another on_duplicate", new.Key())
	}
	s := structs{"event \"" + new.Key() + "\"", new.Pos, old.GoName, new.GoName, followed, new}
	c.identity(old, new)
	c.fields(s, old.Fields, new.Fields)
}

func (c *comparison) routes(old, new *spec.Event) {
	for _, o := range old.To {
		n := route(new, o.Destination.Name)
		switch {
		case n == nil && destination(c.new, o.Destination.Name) != nil:
			c.add(routeRemoved, new.Pos, "event %q does not go to %q any more", new.Key(), o.Destination.Name)
		case n != nil && o.Hold && !n.Hold:
			c.add(holdRemoved, new.Pos, "event %q holds nothing back at %q any more", new.Key(), o.Destination.Name)
		}
	}
	for _, n := range new.To {
		if route(old, n.Destination.Name) == nil {
			c.add(routeAdded, new.Pos, "event %q goes to %q too", new.Key(), n.Destination.Name)
		}
	}
}

func route(e *spec.Event, name string) *spec.Route {
	for _, r := range e.To {
		if r.Destination.Name == name {
			return r
		}
	}
	return nil
}

func (c *comparison) orderingKey(old, new *spec.Event) {
	was, is := keyName(old), keyName(new)
	switch {
	case was == is:
	case was == "":
		c.add(orderingKeyAdded, new.Pos, "event %q is ordered by %q", new.Key(), is)
	case is == "":
		c.add(orderingKeyChanged, new.Pos, "event %q was ordered by %q and is not ordered", new.Key(), was)
	default:
		c.add(orderingKeyChanged, new.Pos, "event %q was ordered by %q and is by %q", new.Key(), was, is)
	}
}

func keyName(e *spec.Event) string {
	if e.OrderingKey == nil {
		return ""
	}
	return e.OrderingKey.Name
}

// identity compares what makes two inserts one event.
func (c *comparison) identity(old, new *spec.Event) {
	was, is := identityText(old), identityText(new)
	if was != is {
		c.add(idempotencyChanged, new.Pos, "event %q had idempotency %s and has %s", new.Key(), was, is)
		return
	}
	for _, f := range new.Idempotency.Fields {
		before := field(old.Fields, f.Name)
		if shown(before) != shown(f) {
			c.add(identityChanged, f.Pos, "field %q, by which event %q is known, was %s and is %s", f.Name, new.Key(), shown(before), shown(f))
		}
	}
	if new.Idempotency.Mode != "payload" {
		return
	}
	for _, f := range new.Fields {
		if field(old.Fields, f.Name) == nil {
			c.add(payloadIdentityChanged, f.Pos, "event %q is known by its payload, in which field %q is new", new.Key(), f.Name)
		}
	}
}

// identityText is the idempotency as a spec writes it. The order of the fields
// is of no account.
func identityText(e *spec.Event) string {
	if e.Idempotency.Mode != "fields" {
		return e.Idempotency.Mode
	}
	var names []string
	for _, f := range e.Idempotency.Fields {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return list(names)
}
