package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// Handler is a destination in this process. A nil error publishes the
// delivery; ErrUnknownEvent gives it back; an error made by Permanent or
// Undecodable dead-letters it at once; any other error, and a panic, is a
// failed attempt. Handle must return when ctx, which carries the attempt's
// deadline and the event's trace, ends: until it does it keeps its place
// among MaxInFlight and its lease.
//
// An attempt whose process dies before the outcome is recorded is made again:
// Handle must be idempotent (Delivery.IdempotencyKey names the fact).
type Handler interface {
	Handle(ctx context.Context, d *Delivery) error
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, d *Delivery) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, d *Delivery) error { return f(ctx, d) }

// Publisher hands a delivery to a message broker. Errors mean what they mean
// for a Handler; nil must mean that the broker has accepted the message for good.
type Publisher interface {
	Publish(ctx context.Context, d *Delivery) error
}

// HandlerConfig is what a handler or publisher may set for its destination.
// Zero fields take the spec's value, then the default.
type HandlerConfig struct {
	Timeout     time.Duration // of one attempt; DefaultTimeout
	MaxInFlight int           // attempts at a time; DefaultMaxInFlight
	Retry       RetryPolicy   // field by field; DefaultRetry
	// MaxAge quarantines a delivery that is older, counted since the insert or
	// the last replay. 0: the spec's, then never. Negative: never.
	MaxAge time.Duration
	// Breaker configures the destination's circuit breaker, field by field.
	// Its name is the destination's.
	Breaker breaker.Config
	// NoBreaker dispatches without one.
	NoBreaker bool
	// SharedBreaker takes the place of the one that Breaker describes: one
	// that several destinations or processes share.
	SharedBreaker Breaker
}

// Or returns c with its zero fields taken from defaults.
func (c HandlerConfig) Or(defaults HandlerConfig) HandlerConfig {
	orDefault(&c.Timeout, defaults.Timeout)
	orDefault(&c.MaxInFlight, defaults.MaxInFlight)
	orDefault(&c.MaxAge, defaults.MaxAge)
	c.Retry = c.Retry.Or(defaults.Retry)
	c.Breaker = c.Breaker.Or(defaults.Breaker)
	c.NoBreaker = c.NoBreaker || defaults.NoBreaker
	if c.SharedBreaker == nil {
		c.SharedBreaker = defaults.SharedBreaker
	}
	return c
}

// HandlerDestination makes a destination of a handler. It fails on a name or
// a configuration that cannot work.
func HandlerDestination(name string, h Handler, c HandlerConfig) (Destination, error) {
	if h == nil {
		return Destination{}, fmt.Errorf("outbox: destination %s: its handler is nil", name)
	}
	return c.destination(name, handlerSender{h.Handle, CauseHandler})
}

// PublisherDestination makes a destination of a publisher.
func PublisherDestination(name string, p Publisher, c HandlerConfig) (Destination, error) {
	if p == nil {
		return Destination{}, fmt.Errorf("outbox: destination %s: its publisher is nil", name)
	}
	return c.destination(name, handlerSender{p.Publish, CausePublisher})
}

func (c HandlerConfig) destination(name string, s Sender) (Destination, error) {
	dest := Destination{
		Name:        name,
		Sender:      s,
		Timeout:     c.Timeout,
		MaxInFlight: c.MaxInFlight,
		Retry:       c.Retry,
		MaxAge:      max(c.MaxAge, 0),
		Breaker:     c.SharedBreaker,
	}
	if dest.Breaker == nil && !c.NoBreaker {
		c.Breaker.Name = name
		if c.Breaker.Lease == 0 {
			// A probe must not lose its slot before its attempt can end.
			c.Breaker.Lease = max(breaker.DefaultLease, 2*c.Timeout)
		}
		b, err := breaker.New(c.Breaker)
		if err != nil {
			return Destination{}, fmt.Errorf("outbox: destination %s: %w", name, err)
		}
		dest.Breaker = b
	}
	dest = dest.withDefaults()
	if err := dest.validate(); err != nil {
		return Destination{}, fmt.Errorf("outbox: destination %q: %w", name, err)
	}
	return dest, nil
}

// handlerSender makes attempts by calling a function of this process.
type handlerSender struct {
	handle func(context.Context, *Delivery) error
	cause  string // of errors that say nothing more exact
}

func (s handlerSender) Send(ctx context.Context, d *Delivery) Outcome {
	err := s.handle(ctx, d)
	if err == nil {
		return Outcome{Result: Delivered, Breaker: breaker.Success}
	}
	_, undecodable := errors.AsType[*undecodableError](err)
	_, permanent := errors.AsType[*permanentError](err)
	switch {
	case errors.Is(err, ErrUnknownEvent):
		return Outcome{Result: Unknown, Breaker: breaker.Neutral, Failure: &Failure{Cause: CauseUnknown, Message: err.Error()}}
	case undecodable:
		return Outcome{Result: Rejected, Breaker: breaker.Neutral, Failure: &Failure{Cause: CauseUndecodable, Message: err.Error()}}
	case permanent:
		return Outcome{Result: Rejected, Breaker: breaker.Neutral, Failure: &Failure{Cause: CausePermanent, Message: err.Error()}}
	case errors.Is(ctx.Err(), context.Canceled):
		return Outcome{Result: Cancelled, Breaker: breaker.Neutral, Failure: &Failure{Cause: CauseCancelled, Message: err.Error()}}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Outcome{Result: Failed, Breaker: breaker.Failure, Failure: &Failure{Cause: CauseTimeout, Message: err.Error()}}
	default:
		return Outcome{Result: Failed, Breaker: breaker.Failure, Failure: &Failure{Cause: s.cause, Message: err.Error()}}
	}
}
