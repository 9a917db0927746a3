package outboxtest

import (
	"context"
	"sync"
)

// Calls remembers what one method of a fake handler was called with, and
// answers with the errors it was given. The zero value answers nil. It is safe
// for concurrent use.
//
// A fake has one field per method of the generated handler interface:
//
//	type fakeAudit struct{ created outboxtest.Calls[events.OrderCreated] }
//
//	func (f *fakeAudit) OrderCreated(ctx context.Context, e events.OrderCreated, d *outbox.Delivery) error {
//		return f.created.Call(e)
//	}
type Calls[E any] struct {
	calls  journal[E]
	mu     sync.Mutex
	errors []error
}

// FailNext makes the next calls answer errs, one each, in order; a nil among
// them lets one call succeed.
func (c *Calls[E]) FailNext(errs ...error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors = append(c.errors, errs...)
}

// Call records e and returns the next of the errors, or nil.
func (c *Calls[E]) Call(e E) error {
	c.mu.Lock()
	var err error
	if len(c.errors) > 0 {
		err, c.errors = c.errors[0], c.errors[1:]
	}
	c.mu.Unlock()
	c.calls.append(e)
	return err
}

// All returns the calls so far, in order, those that failed too.
func (c *Calls[E]) All() []E { return c.calls.all() }

// Wait returns the calls when there are at least n, or those so far and an
// error when ctx ends first.
func (c *Calls[E]) Wait(ctx context.Context, n int) ([]E, error) { return c.calls.wait(ctx, n) }
