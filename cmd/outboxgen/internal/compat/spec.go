package compat

import (
	"slices"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

func (c *comparison) spec() {
	if c.old.Source != c.new.Source {
		c.add(sourceChanged, c.top(), "source was %q and is %q", c.old.Source, c.new.Source)
	}
	if c.old.Package != c.new.Package {
		c.add(packageRenamed, c.top(), "package was %s and is %s", c.old.Package, c.new.Package)
	}
	c.destinations()
	c.events()
	c.types()
}

func (c *comparison) destinations() {
	for _, old := range c.old.Destinations {
		if new := destination(c.new, old.Name); new != nil {
			c.destination(old, new)
		} else {
			c.add(destinationRemoved, c.top(), "destination %q is gone", old.Name)
		}
	}
	for _, new := range c.new.Destinations {
		if destination(c.old, new.Name) == nil {
			c.add(destinationAdded, new.Pos, "destination %q is new", new.Name)
		}
	}
	c.destinationOrder()
}

func destination(s *spec.Spec, name string) *spec.Destination {
	for _, d := range s.Destinations {
		if d.Name == name {
			return d
		}
	}
	return nil
}

func (c *comparison) destination(old, new *spec.Destination) {
	if old.Kind != new.Kind {
		c.add(destinationKindChanged, new.Pos, "destination %q was a %s and is a %s", new.Name, old.Kind, new.Kind)
	}
	if old.GoName != new.GoName {
		c.add(destinationRenamed, new.Pos, "destination %q was %s in Go and is %s", new.Name, old.GoName, new.GoName)
	}
	if old.Webhook == nil || new.Webhook == nil {
		return
	}
	if len(old.Webhook.Secrets) > 0 && len(new.Webhook.Secrets) == 0 {
		c.add(signatureRemoved, new.Pos, "destination %q has no secrets any more", new.Name)
	}
	if old.Webhook.QuotedIdempotency != new.Webhook.QuotedIdempotency {
		c.add(idempotencyHeaderChanged, new.Pos, "destination %q writes Idempotency-Key otherwise", new.Name)
	}
}

// destinationOrder compares the order of the positional arguments that old and
// new have both.
func (c *comparison) destinationOrder() {
	positional := func(s, other *spec.Spec) []*spec.Destination {
		return slices.DeleteFunc(slices.Clone(s.Destinations), func(d *spec.Destination) bool {
			o := destination(other, d.Name)
			return o == nil || d.Kind == spec.Webhook || o.Kind == spec.Webhook
		})
	}
	old, new := positional(c.old, c.new), positional(c.new, c.old)
	for i := range new {
		if old[i].Name != new[i].Name {
			c.add(destinationOrderChanged, new[i].Pos, "destination %q stands where %q stood", new[i].Name, old[i].Name)
			return
		}
	}
}
