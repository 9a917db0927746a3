package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
)

// purgeWindow is how many events Purge looks at in one read.
const purgeWindow = 256

// purgeCursor remembers how far the events have been looked through, so that
// old ones that must stay are not looked at again by each call.
type purgeCursor struct {
	mu  sync.Mutex
	seq int64
}

// Purge implements outbox.Store. It returns less than limit when it has come
// to events that are too young; the next call then begins at the oldest again.
// It looks for them beside the writer.
func (s *Store) Purge(ctx context.Context, retention time.Duration, limit int) (int, error) {
	s.purged.mu.Lock()
	defer s.purged.mu.Unlock()
	before := s.micros() - later(0, retention)
	removed := 0
	for removed < limit {
		window, err := sqlitedb.New(s.reads).PurgeWindow(ctx, sqlitedb.PurgeWindowParams{Before: before, After: s.purged.seq, Batch: purgeWindow})
		if err != nil {
			return removed, explain("look for events to purge in", s.path, err)
		}
		done, last, old := doneWith(window, limit-removed)
		if err := s.remove(ctx, done); err != nil {
			return removed, explain("purge", s.path, err)
		}
		removed += len(done)
		s.purged.seq = last
		if !old || len(window) < purgeWindow && removed < limit {
			s.purged.seq = 0
			return removed, nil
		}
	}
	return removed, nil
}

// doneWith picks at most limit events that may go, and says how far it has
// looked and whether any event up to there was old enough to.
func doneWith(window []sqlitedb.PurgeWindowRow, limit int) (done []int64, last int64, old bool) {
	for _, r := range window {
		if len(done) == limit {
			break
		}
		last, old = r.Seq, old || r.Old != 0
		if r.Done != 0 {
			done = append(done, r.Seq)
		}
	}
	return done, last, old
}

// remove deletes events that are done with: nothing opens them again, so
// having looked in an earlier snapshot is safe.
func (s *Store) remove(ctx context.Context, seqs []int64) error {
	if len(seqs) == 0 {
		return nil
	}
	return s.inTx(ctx, func(tx *sql.Tx) error {
		q, these := sqlitedb.New(tx), numbers(seqs)
		if _, err := q.PurgeAttempts(background, these); err != nil {
			return err
		}
		if _, err := q.PurgeDeliveries(background, these); err != nil {
			return err
		}
		_, err := q.PurgeEvents(background, these)
		return err
	})
}
