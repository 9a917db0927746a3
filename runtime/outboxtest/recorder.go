package outboxtest

import (
	"bytes"
	"context"
	"sync"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// Recorder is an [outbox.Inserter] that remembers what was inserted in which
// transaction. It is safe for concurrent use.
type Recorder[Tx comparable] struct {
	store   outbox.Inserter[Tx] // nil: nothing is stored
	mu      sync.Mutex
	emitted []emission[Tx]
}

type emission[Tx comparable] struct {
	tx     Tx
	record outbox.Record
}

// NewRecorder returns a recorder in front of store. store may be nil: then
// records are only remembered, and a second one with the same idempotency key
// is answered as a store answers it.
func NewRecorder[Tx comparable](store outbox.Inserter[Tx]) *Recorder[Tx] {
	return &Recorder[Tx]{store: store}
}

// Insert implements [outbox.Inserter].
func (r *Recorder[Tx]) Insert(ctx context.Context, tx Tx, rec outbox.Record) (outbox.Receipt, error) {
	if r.store == nil {
		receipts, err := r.insert(tx, rec)
		if err != nil {
			return outbox.Receipt{}, err.Err
		}
		return receipts[0], nil
	}
	receipt, err := r.store.Insert(ctx, tx, rec)
	if err == nil && !receipt.Duplicate {
		r.remember(tx, rec)
	}
	return receipt, err
}

// InsertBatch implements [outbox.Inserter]: all or nothing.
func (r *Recorder[Tx]) InsertBatch(ctx context.Context, tx Tx, recs []outbox.Record) ([]outbox.Receipt, error) {
	if r.store == nil {
		receipts, err := r.insert(tx, recs...)
		if err != nil {
			return nil, err
		}
		return receipts, nil
	}
	receipts, err := r.store.InsertBatch(ctx, tx, recs)
	if err != nil {
		return nil, err
	}
	for i, receipt := range receipts {
		if !receipt.Duplicate {
			r.remember(tx, recs[i])
		}
	}
	return receipts, nil
}

func (r *Recorder[Tx]) remember(tx Tx, rec outbox.Record) {
	rec.Payload = bytes.Clone(rec.Payload) // it is the caller's again after the call
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emitted = append(r.emitted, emission[Tx]{tx, rec})
}

// insert is what a store does, without a store.
func (r *Recorder[Tx]) insert(tx Tx, recs ...outbox.Record) ([]outbox.Receipt, *outbox.BatchError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	emitted := r.emitted
	receipts := make([]outbox.Receipt, len(recs))
	for i, rec := range recs {
		if first := find(emitted, rec.IdempotencyKey); first != nil {
			differs := !bytes.Equal(first.Payload, rec.Payload)
			if !rec.IgnoreDuplicate {
				return nil, &outbox.BatchError{Index: i, Err: &outbox.DuplicateError{
					ID: first.ID, Type: rec.Type, IdempotencyKey: rec.IdempotencyKey, PayloadDiffers: differs}}
			}
			receipts[i] = outbox.Receipt{ID: first.ID, IdempotencyKey: rec.IdempotencyKey, Duplicate: true, PayloadDiffers: differs}
			continue
		}
		rec.Payload = bytes.Clone(rec.Payload)
		emitted = append(emitted, emission[Tx]{tx, rec})
		receipts[i] = outbox.Receipt{ID: rec.ID, IdempotencyKey: rec.IdempotencyKey}
	}
	r.emitted = emitted
	return receipts, nil
}

func find[Tx comparable](emitted []emission[Tx], key string) *outbox.Record {
	for i := range emitted {
		if emitted[i].record.IdempotencyKey == key {
			return &emitted[i].record
		}
	}
	return nil
}

// Emitted returns what tx emitted, in order. A duplicate that changed nothing
// is not among it.
func (r *Recorder[Tx]) Emitted(tx Tx) []outbox.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	var recs []outbox.Record
	for _, e := range r.emitted {
		if e.tx == tx {
			recs = append(recs, e.record)
		}
	}
	return recs
}

// All returns what every transaction emitted, in order, also of transactions
// that were rolled back since: a recorder does not see their end.
func (r *Recorder[Tx]) All() []outbox.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	recs := make([]outbox.Record, len(r.emitted))
	for i, e := range r.emitted {
		recs[i] = e.record
	}
	return recs
}
