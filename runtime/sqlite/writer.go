package sqlite

import (
	"context"
	"database/sql"
	"sync/atomic"
)

// writer is the process's one writing connection and whose turn it is.
type writer struct {
	db   *sql.DB
	path string
	turn turn

	// Of the open transaction.
	current atomic.Pointer[sql.Tx]
	wakes   atomic.Bool  // it may have made something claimable
	lastSeq atomic.Int64 // of the events it inserted; 0: none

	// What a watcher for other processes' commits must not mistake for theirs:
	// how many commits have begun and ended here, and the last event.
	begun, done atomic.Int64
	knownSeq    atomic.Int64

	onWake  func()            // after a commit that wakes
	onPages func(written int) // after a commit that wrote pages of the WAL
}

// begin waits for the turn and for SQLite's lock. The transaction ends when
// ctx does.
func (w *writer) begin(ctx context.Context) (*sql.Tx, error) {
	return w.start(ctx, ctx)
}

// beginDetached is begin for transactions that ctx does not end: it ends the
// waiting only.
func (w *writer) beginDetached(ctx context.Context) (*sql.Tx, error) {
	return w.start(ctx, context.WithValue(context.WithoutCancel(ctx), waitKey{}, ctx))
}

func (w *writer) start(wait, life context.Context) (*sql.Tx, error) {
	if err := w.turn.take(wait); err != nil {
		return nil, explain("wait to begin on", w.path, err)
	}
	w.wakes.Store(false)
	w.lastSeq.Store(0)
	tx, err := w.db.BeginTx(life, nil)
	if err != nil {
		w.turn.pass()
		return nil, explain("begin on", w.path, err)
	}
	w.current.Store(tx)
	return tx, nil
}

// committing is called by the connection just before COMMIT, and ended just
// after it or a rollback, before anybody else can begin.
func (w *writer) committing() {
	w.begun.Add(1)
	if seq := w.lastSeq.Load(); seq > 0 {
		w.knownSeq.Store(seq)
	}
}

func (w *writer) ended(committed bool, pages int) {
	wakes := committed && w.wakes.Load()
	w.done.Store(w.begun.Load())
	w.turn.pass()
	if wakes {
		w.onWake()
	}
	if pages > 0 {
		w.onPages(pages)
	}
}

// inTx runs fn in a transaction that begin opened, and commits it unless fn
// fails or panics.
func (w *writer) inTx(ctx context.Context, begin func(context.Context) (*sql.Tx, error), fn func(tx *sql.Tx) error) error {
	tx, err := begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing
	if err := fn(tx); err != nil {
		return err
	}
	return explain("commit to", w.path, tx.Commit())
}
