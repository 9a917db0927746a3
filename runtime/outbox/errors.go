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
	ErrLeaseLost = errors.New("outbox: lease lost")
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
