package inbox

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// EventType is one event type and version that a receiver takes. Generated
// code makes them.
type EventType[Tx any] struct {
	Type    string // as the spec writes it, without a version
	Version int    // from 1
	// Idempotency is the type's policy in the spec of this version: the
	// receiver computes the idempotency key again with it.
	Idempotency canonical.Policy
	// Apply decodes body and calls the user's handler, inside the transaction
	// of the inbox row. An error of decoding or validating wraps
	// [ErrUndecodable]; one that blames the event is made by [Reject]; any
	// other is a failure that another attempt may not meet. body is valid JSON,
	// an object without duplicate names; it is not used again afterwards.
	Apply func(ctx context.Context, tx Tx, body []byte, m Message) error
}

// Message is what a handler is told beside the event itself.
type Message struct {
	// EventID names the event. With an idempotency policy other than event it is
	// not part of the key, and so only as trustworthy as the sender.
	EventID        uuid.UUID
	Type           string
	Version        int
	IdempotencyKey string // 64 lower-case hex digits
	Source         string // one of Config.Sources
	// Timestamp is when the sender made this attempt (webhook-timestamp);
	// zero when an unsigned request does not say.
	Timestamp time.Time
	// Trace is the W3C trace context of the insert; empty when there was none or it is malformed.
	Trace outbox.Trace
}

// ErrUndecodable is wrapped by errors of Apply that say that the body is not
// an event of its type: answer 422.
var ErrUndecodable = errors.New("inbox: body does not decode as its event type")

// Reject marks err, a handler's error, as the event's own fault: the
// transaction is rolled back and the sender is told 422, on which it makes the
// event a dead letter at once instead of trying again. err's text is logged
// and not sent. Reject(nil) is nil.
func Reject(err error) error {
	if err == nil {
		return nil
	}
	return &rejectedError{err}
}

type rejectedError struct{ err error }

func (e *rejectedError) Error() string { return "event rejected: " + e.err.Error() }
func (e *rejectedError) Unwrap() error { return e.err }
