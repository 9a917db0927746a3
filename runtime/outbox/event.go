package outbox

import (
	"time"

	"github.com/google/uuid"
)

// Status is the state of a delivery in its lifecycle.
type Status string

// The four states. A failed attempt goes back to Pending with a later due
// time; only a replay leaves DeadLetter; nothing leaves Published.
const (
	Pending    Status = "PENDING"
	Processing Status = "PROCESSING"
	Published  Status = "PUBLISHED"
	DeadLetter Status = "DEAD_LETTER"
)

// Event is an immutable fact as it stands in the store.
type Event struct {
	// Seq is the store's own number: never reused, in commit order within one
	// ordering key.
	Seq     int64
	ID      uuid.UUID // UUIDv7
	Type    string    // as the spec writes it, without a version
	Version int
	// OrderingKey is "" when the event has none.
	OrderingKey string
	// Payload is the RFC 8785 text made at insert. It is shared: do not modify it.
	Payload        []byte
	Trace          Trace
	IdempotencyKey string // 64 lower-case hex digits
	CreatedAt      time.Time
}

// Trace is the W3C trace context of the insert; both fields may be empty.
type Trace struct {
	Parent string `json:"traceparent,omitempty"`
	State  string `json:"tracestate,omitempty"`
}

// Delivery is one event on its way to one destination, under a lease.
type Delivery struct {
	*Event
	Destination string
	// Hold: as a dead letter it keeps later deliveries of its ordering key
	// waiting, so the rest of its run must not be attempted.
	Hold bool
	// RetryCount is how many attempts are spent; the attempt under way is
	// number RetryCount+1.
	RetryCount int
	// CrashCount is how many suspect claims in a row ended in no settle.
	CrashCount  int
	ReplayCount int
	// Suspect is set when the delivery's earlier lease was found expired:
	// the process that held it may have died of it.
	Suspect bool
	// Age runs since the insert or the last replay, by the store's clock.
	Age   time.Duration
	Lease Lease
}

// Attempt is the number of the attempt under way, from 1.
func (d *Delivery) Attempt() int { return d.RetryCount + 1 }

// Lease is the right to attempt one delivery until it expires. A settle that
// carries a token which is no longer the stored one changes nothing.
type Lease struct {
	Seq         int64
	Destination string
	Token       int64
}
