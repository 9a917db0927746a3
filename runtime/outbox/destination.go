package outbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// Sender makes one attempt. It returns when the attempt is over or ctx, which
// carries the attempt's deadline, ends. It must not panic, but may.
//
// A Sender that is an io.Closer is closed when the dispatcher's Run returns,
// to let go of what it keeps between attempts (idle connections). It must
// still work afterwards: another dispatcher may have it too.
type Sender interface {
	Send(ctx context.Context, d *Delivery) Outcome
}

// Destination is everything a dispatcher knows of one destination. Zero
// fields take the defaults named beside them.
type Destination struct {
	Name   string
	Sender Sender
	// Knows reports whether this process can deliver the type and version;
	// nil: it can deliver everything. Unknown ones are given back, due again
	// after UnknownDelay.
	Knows       func(eventType string, version int) bool
	Timeout     time.Duration // of one attempt; DefaultTimeout
	MaxInFlight int           // attempts at a time; DefaultMaxInFlight
	Retry       RetryPolicy   // field by field; DefaultRetry
	MaxAge      time.Duration // 0: never expires
	Breaker     Breaker       // nil: none
}

// NewDestination makes a destination of a Sender of another package, with c's
// zero fields defaulted and the breaker that c describes. It fails on a name or
// a configuration that cannot work.
func NewDestination(name string, s Sender, c HandlerConfig) (Destination, error) {
	return c.destination(name, s)
}

func (dest Destination) withDefaults() Destination {
	orDefault(&dest.Timeout, DefaultTimeout)
	orDefault(&dest.MaxInFlight, DefaultMaxInFlight)
	dest.Retry = dest.Retry.Or(DefaultRetry)
	return dest
}

// close lets go of what the Sender keeps between attempts.
func (dest Destination) close() error {
	if c, ok := dest.Sender.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// validate names every fault of the destination at once, without its name.
func (dest Destination) validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if dest.Name == "" {
		fault("it has no name")
	}
	if dest.Sender == nil {
		fault("it has no sender")
	}
	if dest.Timeout < 0 {
		fault("timeout is %v: use a positive duration, or 0 for %v", dest.Timeout, DefaultTimeout)
	}
	if dest.MaxInFlight < 0 {
		fault("max in flight is %d: use at least 1, or 0 for %d", dest.MaxInFlight, DefaultMaxInFlight)
	}
	if dest.MaxAge < 0 {
		fault("max age is %v: use a positive duration, or 0 for no limit", dest.MaxAge)
	}
	if err := dest.Retry.Validate(); err != nil {
		fault("retry: %w", err)
	}
	return errors.Join(faults...)
}

// Breaker is what the dispatcher asks of a circuit breaker;
// *breaker.Breaker is one, redisbreaker's another.
type Breaker interface {
	// Room is how many attempts could start now without being refused.
	Room() int
	// TryAcquire takes the permit for one attempt or answers a
	// *breaker.OpenError at once.
	TryAcquire() (breaker.Permit, error)
	State() breaker.State
	// RetryIn is the time until Room may be above 0 again; 0 when it is.
	RetryIn() time.Duration
}

// Outcome is what an attempt came to: the table of the design's section 8.
type Outcome struct {
	Result Result
	// Breaker is what the breaker is told.
	Breaker breaker.Outcome
	// PauseFor, with Paused: how long the destination is paused.
	PauseFor time.Duration
	Failure  *Failure // nil on success
}

// Result is the kind of an Outcome.
type Result int

const (
	Delivered  Result = iota + 1
	Failed            // attempt spent, retry after backoff; dead letter when spent
	Rejected          // the event is at fault: dead letter at once
	Paused            // no attempt spent; the destination is paused for PauseFor
	Disabled          // no attempt spent; the destination is disabled until enabled
	LocalFault        // no attempt spent; the destination is paused with growing backoff
	Unknown           // no attempt spent; due again after UnknownDelay
	Cancelled         // our shutdown or a lost lease: given back
)

// UnknownDelay is how long a delivery waits whose type or version this
// process does not know.
const UnknownDelay = 30 * time.Second
