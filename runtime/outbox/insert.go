package outbox

import (
	"context"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/runtime/canonical"
)

// Inserter writes events inside the caller's transaction. Tx is the
// transaction's type: *sql.Tx for the SQLite store.
type Inserter[Tx any] interface {
	// Insert writes one event and its deliveries, or nothing.
	// A second insert with the same idempotency key changes nothing, does not
	// spoil the transaction, and answers *DuplicateError, or a receipt marked
	// Duplicate when rec.IgnoreDuplicate is set.
	Insert(ctx context.Context, tx Tx, rec Record) (Receipt, error)
	// InsertBatch is all or nothing within the transaction: a record that
	// fails undoes the whole batch by savepoint, and the error is a
	// *BatchError whose Index names the record. One receipt a record.
	InsertBatch(ctx context.Context, tx Tx, recs []Record) ([]Receipt, error)
}

// Record is one event to insert.
type Record struct {
	ID              uuid.UUID
	Type            string
	Version         int
	OrderingKey     string // "": none
	Payload         []byte // RFC 8785 text; not retained after the call
	Trace           Trace
	IdempotencyKey  string
	IgnoreDuplicate bool
	Routes          []Route
}

// Route sends an event to one destination.
type Route struct {
	Destination string
	// Hold keeps later deliveries of the same ordering key waiting while this
	// one is a dead letter.
	Hold bool
}

// Receipt says what an insert did.
type Receipt struct {
	ID             uuid.UUID // of the event that stands in the store
	IdempotencyKey string
	// Duplicate is set when an event with this key was there already; ID is
	// then that event's.
	Duplicate bool
	// PayloadDiffers is set with Duplicate when the bytes are not the same.
	PayloadDiffers bool
}

// Definition is what the generated code knows of an event type.
type Definition struct {
	Source          string
	Type            string
	Version         int
	Idempotency     canonical.Policy
	IgnoreDuplicate bool
	Routes          []Route
}
