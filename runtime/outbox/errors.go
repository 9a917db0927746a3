package outbox

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
)

var (
	// ErrDuplicate matches every *DuplicateError.
	ErrDuplicate = errors.New("outbox: an event with this idempotency key exists")
	// ErrLeaseLost: the lease ended and another worker may hold the delivery.
	// It is the cause of an attempt's context that is cancelled for that.
	ErrLeaseLost = errors.New("outbox: lease lost")
	// ErrShutdown is the cause of an attempt's context that is cancelled
	// because the dispatcher's shutdown timeout is over.
	ErrShutdown = errors.New("outbox: dispatcher shuts down")
	// ErrUnknownEvent is what a Handler answers to an event whose type or
	// version it does not know: the delivery is given back for another
	// process, or a later release of this one.
	ErrUnknownEvent = errors.New("outbox: event type or version unknown to this process")
	// ErrRunning answers a second Run of one Dispatcher.
	ErrRunning = errors.New("outbox: this dispatcher has been run already")
)

// DuplicateError answers an insert whose idempotency key is taken.
type DuplicateError struct {
	ID             uuid.UUID // of the event that holds the key
	Type           string
	IdempotencyKey string
	PayloadDiffers bool
}

func (e *DuplicateError) Error() string {
	s := fmt.Sprintf("outbox: insert %s: event %s holds idempotency key %s", e.Type, e.ID, e.IdempotencyKey)
	if e.PayloadDiffers {
		return s + " with another payload"
	}
	return s
}

// Is makes every DuplicateError match ErrDuplicate.
func (e *DuplicateError) Is(target error) bool { return target == ErrDuplicate }

// BatchError names the record of a batch that failed.
type BatchError struct {
	Index int
	Err   error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("outbox: batch record %d: %v", e.Index, e.Err)
}

func (e *BatchError) Unwrap() error { return e.Err }

// Permanent marks an error of a Handler as the event's own fault: no retry
// can help, so the delivery becomes a dead letter at once. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// Undecodable marks that a stored payload could not be read as its type; the
// delivery becomes a dead letter of that kind. Undecodable(nil) is nil.
func Undecodable(err error) error {
	if err == nil {
		return nil
	}
	return &undecodableError{err}
}

type undecodableError struct{ err error }

func (e *undecodableError) Error() string { return "payload cannot be decoded: " + e.err.Error() }
func (e *undecodableError) Unwrap() error { return e.err }

// The classes of Failure.Cause that this package uses. Senders may have others.
const (
	CauseHandler     = "handler"     // a Handler's error
	CausePublisher   = "publisher"   // a Publisher's error
	CausePermanent   = "permanent"   // Permanent
	CauseUndecodable = "undecodable" // Undecodable; makes a dead letter of FailureUndecodable
	CauseUnknown     = "unknown"     // ErrUnknownEvent
	CauseTimeout     = "timeout"     // the attempt's deadline passed
	CausePanic       = "panic"       // the message has the stack
	CauseExit        = "exit"        // the sender ended its goroutine (runtime.Goexit)
	CauseCancelled   = "cancelled"   // by us: shutdown or a lost lease
	CauseInvalid     = "invalid"     // a Sender's Outcome makes no sense
)
