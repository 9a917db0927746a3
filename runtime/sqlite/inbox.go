package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
	"github.com/outboxgen/outboxgen/runtime/inbox"
)

// Inbox is the receiver's side of the store, in the same database: the inbox
// row, the handler's writes and the events that it inserts commit together.
//
// Handlers run one at a time, in the turn of all the store's writes, so keep
// them short: those behind a slow one wait until their sender's timeout is over,
// and its breaker takes the endpoint for a dead one.
func (s *Store) Inbox() inbox.Store[*sql.Tx] {
	return received{s}
}

type received struct{ s *Store }

// Apply implements inbox.Store. It returns when what it reports is on disk:
// the sender forgets an event once it has been told that it was applied.
func (r received) Apply(ctx context.Context, e inbox.Entry, fn func(ctx context.Context, tx *sql.Tx) error) (inbox.Result, error) {
	result := inbox.Applied
	err := r.s.InTx(ctx, func(tx *sql.Tx) error {
		q := sqlitedb.New(tx)
		n, err := q.InsertReceived(background, sqlitedb.InsertReceivedParams{
			Consumer: e.Consumer, IdempotencyKey: e.IdempotencyKey, EventID: e.EventID, Fingerprint: e.Fingerprint, Now: r.s.micros(),
		})
		if err != nil {
			return explain("write the inbox of", r.s.path, err)
		}
		if n == 1 {
			return fn(ctx, tx)
		}
		fingerprint, err := q.ReceivedFingerprint(background, sqlitedb.ReceivedFingerprintParams{Consumer: e.Consumer, IdempotencyKey: e.IdempotencyKey})
		result = inbox.Duplicate
		if fingerprint != e.Fingerprint {
			result = inbox.Mismatch
		}
		return explain("read the inbox of", r.s.path, err)
	})
	if err != nil {
		return 0, err
	}
	if result == inbox.Mismatch {
		return result, nil
	}
	if err := r.s.barrier.ready(ctx); err != nil {
		return 0, err
	}
	if err := r.s.barrier.sync(); err != nil {
		return 0, err
	}
	return result, nil
}

// Purge implements inbox.Store.
func (r received) Purge(ctx context.Context, consumer string, retention time.Duration, limit int) (int, error) {
	var n int64
	err := r.s.inTx(ctx, func(tx *sql.Tx) (err error) {
		n, err = sqlitedb.New(tx).PurgeReceived(background, sqlitedb.PurgeReceivedParams{
			Consumer: consumer, Before: r.s.micros() - later(0, retention), Batch: int64(limit),
		})
		return err
	})
	return int(n), explain("purge the inbox of", r.s.path, err)
}
