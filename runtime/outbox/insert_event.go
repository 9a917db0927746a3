package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/runtime/canonical"
)

// Draft is one event of a batch insert.
type Draft struct {
	OrderingKey string // "": none
	Payload     []byte // RFC 8785 text, as AppendCanonical makes it; not retained
}

// InsertEvent writes one event of def's type in the caller's transaction. The
// event gets a new UUIDv7, the trace of ctx (ContextWithTrace) and the
// idempotency key that def's policy asks for. An error names the event's type
// and id; one for a taken key is a *DuplicateError, and the transaction can go on.
//
// Generated code calls it with bytes it has validated; it is exported for
// those who write events without generated code.
func InsertEvent[Tx any](ctx context.Context, store Inserter[Tx], tx Tx, def *Definition, orderingKey string, payload []byte) (Receipt, error) {
	rec, err := def.record(ctx, orderingKey, payload)
	if err != nil {
		return Receipt{}, err
	}
	receipt, err := store.Insert(ctx, tx, rec)
	if err != nil {
		return Receipt{}, insertError(rec, err)
	}
	return receipt, nil
}

// InsertEvents writes all drafts or none, and answers a receipt each, in the
// same order. A failure is a *BatchError whose Index names the draft.
func InsertEvents[Tx any](ctx context.Context, store Inserter[Tx], tx Tx, def *Definition, drafts []Draft) ([]Receipt, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	recs := make([]Record, len(drafts))
	for i, d := range drafts {
		rec, err := def.record(ctx, d.OrderingKey, d.Payload)
		if err != nil {
			return nil, &BatchError{Index: i, Err: err}
		}
		recs[i] = rec
	}
	receipts, err := store.InsertBatch(ctx, tx, recs)
	if err == nil {
		return receipts, nil
	}
	if failed, ok := errors.AsType[*BatchError](err); ok && failed.Index >= 0 && failed.Index < len(recs) {
		return nil, &BatchError{Index: failed.Index, Err: insertError(recs[failed.Index], failed.Err)}
	}
	return nil, fmt.Errorf("outbox: insert %d events of type %s: %w", len(recs), def.Type, err)
}

func (def *Definition) record(ctx context.Context, orderingKey string, payload []byte) (Record, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Record{}, fmt.Errorf("outbox: insert %s: make an id: %w", def.Type, err)
	}
	key, err := canonical.Key(def.Source, def.Type, def.Idempotency, id.String(), payload)
	if err != nil {
		return Record{}, fmt.Errorf("outbox: insert %s %s: make its idempotency key: %w", def.Type, id, err)
	}
	return Record{
		ID:              id,
		Type:            def.Type,
		Version:         def.Version,
		OrderingKey:     orderingKey,
		Payload:         payload,
		Trace:           TraceFromContext(ctx),
		IdempotencyKey:  key,
		IgnoreDuplicate: def.IgnoreDuplicate,
		Routes:          def.Routes,
	}, nil
}

// insertError adds type and id, which a *DuplicateError carries already.
func insertError(rec Record, err error) error {
	if _, ok := errors.AsType[*DuplicateError](err); ok {
		return err
	}
	return fmt.Errorf("outbox: insert %s %s: %w", rec.Type, rec.ID, err)
}
