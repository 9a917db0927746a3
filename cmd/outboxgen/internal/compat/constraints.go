package compat

import (
	"strconv"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// rules compares the constraints of a value.
func (c *comparison) rules(v values, t *spec.TypeRef, old, new spec.Rules) {
	order := func(a, b string) int { return spec.CompareValues(t.Scalar, a, b) }
	c.bound(v, "min", old.Min, new.Min, order, 1)
	c.bound(v, "max", old.Max, new.Max, order, -1)
	c.bound(v, "min_length", number(old.MinLength), number(new.MinLength), byNumber, 1)
	c.bound(v, "max_length", number(old.MaxLength), number(new.MaxLength), byNumber, -1)
	c.bound(v, "min_items", number(old.MinItems), number(new.MinItems), byNumber, 1)
	c.bound(v, "max_items", number(old.MaxItems), number(new.MaxItems), byNumber, -1)
	c.condition(v, "pattern", old.Pattern, new.Pattern)
	c.condition(v, "format", old.Format, new.Format)
}

// bound compares a limit: with direction 1 a higher one allows less.
func (c *comparison) bound(v values, key string, old, new *string, order func(a, b string) int, direction int) {
	switch {
	case old == nil && new == nil:
	case old == nil:
		c.add(ruleTightened, v.pos, "%s has %s %s, where it had none", v.what, key, *new)
	case new == nil:
		c.add(ruleLoosened, v.pos, "%s has no %s any more, which was %s", v.what, key, *old)
	default:
		switch direction * order(*new, *old) {
		case 1:
			c.add(ruleTightened, v.pos, "%s has %s %s, which was %s", v.what, key, *new, *old)
		case -1:
			c.add(ruleLoosened, v.pos, "%s has %s %s, which was %s", v.what, key, *new, *old)
		}
	}
}

// condition compares what can be told only to be the same or another.
func (c *comparison) condition(v values, key, old, new string) {
	switch {
	case old == new:
	case old == "":
		c.add(ruleTightened, v.pos, "%s has %s %q, where it had none", v.what, key, new)
	case new == "":
		c.add(ruleLoosened, v.pos, "%s has no %s any more, which was %q", v.what, key, old)
	default:
		// It may well refuse what it took, and take what it refused.
		c.add(ruleTightened, v.pos, "%s has %s %q, which was %q", v.what, key, new, old)
		c.add(ruleLoosened, v.pos, "%s has %s %q, which was %q", v.what, key, new, old)
	}
}

func number(n *int) *string {
	if n == nil {
		return nil
	}
	s := strconv.Itoa(*n)
	return &s
}

func byNumber(a, b string) int { return spec.CompareValues(spec.Int, a, b) }
