package outbox

import (
	"context"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// Sender makes one attempt. It returns when the attempt is over or ctx, which
// carries the attempt's deadline, ends. It must not panic, but may.
type Sender interface {
	Send(ctx context.Context, d *Delivery) Outcome
}

// Destination is everything a dispatcher knows of one destination.
type Destination struct {
	Name   string
	Sender Sender
	// Knows reports whether this process can deliver the type and version;
	// nil: it can deliver everything. Unknown ones are given back, due again
	// after UnknownDelay.
	Knows       func(eventType string, version int) bool
	Timeout     time.Duration // of one attempt
	MaxInFlight int
	Retry       RetryPolicy
	MaxAge      time.Duration // 0: never expires
	Breaker     Breaker       // nil: none
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
