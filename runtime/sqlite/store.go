package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// Store keeps events, deliveries and an inbox in one database. It is safe for
// concurrent use.
type Store struct {
	path    string // as SQLite resolved it
	now     func() time.Time
	log     *slog.Logger
	w       *writer
	readers *sql.DB // the user's
	reads   *sql.DB // our own: nobody else can use them up
	barrier *barrier
	ckpt    *checkpointer
	watch   *watch
	purged  purgeCursor

	close sync.Once
	stop  context.CancelFunc
	tasks sync.WaitGroup // background work
}

var (
	_ outbox.Inserter[*sql.Tx] = (*Store)(nil)
	_ outbox.Store             = (*Store)(nil)
	_ outbox.Admin             = (*Store)(nil)
)

// InTx runs fn in a write transaction and commits it; an error or a panic of fn
// rolls it back, and fn's error is returned as it is. Transactions of this
// process run one after another, in the order in which they were asked for: fn
// must neither begin another one nor call the store, except for Insert and
// InsertBatch with tx, and should not wait for anything outside.
// When ctx ends before the commit, the transaction is rolled back.
func (s *Store) InTx(ctx context.Context, fn func(tx *sql.Tx) error) error {
	return s.w.inTx(ctx, s.w.begin, fn)
}

// Begin is InTx for those who commit or roll back themselves. Until they do,
// nobody else in this process writes.
func (s *Store) Begin(ctx context.Context) (*sql.Tx, error) {
	return s.w.begin(ctx)
}

// Readers is a pool of connections that cannot write. While one of its
// transactions, or a result that is not closed, is open, SQLite cannot reset
// the WAL.
func (s *Store) Readers() *sql.DB {
	return s.readers
}

// Path is the database file's.
func (s *Store) Path() string {
	return s.path
}

// Close ends the background work and closes all connections. Transactions must
// have ended before.
func (s *Store) Close() error {
	var err error
	s.close.Do(func() {
		s.stop()
		s.watch.close()
		s.tasks.Wait()
		err = errors.Join(s.barrier.close(), s.reads.Close(), s.readers.Close(), s.ckpt.db.Close(), s.w.db.Close())
	})
	return err
}

func (s *Store) micros() int64 {
	return s.now().UnixMicro()
}

// inTx runs one of the store's own transactions: ctx ends the wait for it, and
// nothing ends it once it has begun.
func (s *Store) inTx(ctx context.Context, fn func(tx *sql.Tx) error) error {
	return s.w.inTx(ctx, s.w.beginDetached, fn)
}
