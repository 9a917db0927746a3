package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// walSizes are in pages of 4 KiB.
type walSizes struct {
	// gathered is how many pages of the WAL are worth a checkpoint.
	gathered int
	// most is how many it may hold before writers wait for a moment, so that it
	// can begin anew.
	most int
}

var defaultWALSizes = walSizes{gathered: 1000, most: 16384} // 4 and 64 MiB

const (
	// checkpointPause is how long a few pages wait for more.
	checkpointPause = time.Second
	// checkpointRetry is how long a checkpoint that readers stopped is put off,
	// doubling to checkpointRetryMost.
	checkpointRetry     = 250 * time.Millisecond
	checkpointRetryMost = 5 * time.Second
	// checkpointWait is how long emptying the WAL waits for other processes'
	// writers and for readers; meanwhile nobody writes.
	checkpointWait = 50 * time.Millisecond
)

// checkpointer moves the WAL into the database file, beside the writers.
// SQLite begins the WAL anew when all of it has been moved and nobody reads
// from it.
type checkpointer struct {
	db   *sql.DB // one connection of its own
	turn *turn
	log  *slog.Logger
	wal  walSizes

	pages  atomic.Int64 // written since the last checkpoint
	signal chan struct{}

	blocked time.Time // when a reader last kept the WAL from being emptied
}

func newCheckpointer(s *Store, db *sql.DB, wal walSizes) *checkpointer {
	if wal == (walSizes{}) {
		wal = defaultWALSizes
	}
	return &checkpointer{db: db, turn: &s.w.turn, log: s.log, wal: wal, signal: make(chan struct{}, 1)}
}

// wrote counts pages of a commit and wakes the checkpointer at the first ones
// and when there are enough.
func (c *checkpointer) wrote(pages int) {
	after, enough := c.pages.Add(int64(pages)), int64(c.wal.gathered)
	before := after - int64(pages)
	if before == 0 || before < enough && after >= enough {
		select {
		case c.signal <- struct{}{}:
		default:
		}
	}
}

func (c *checkpointer) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	retry := time.Duration(0) // above 0 while something is left to do
	for {
		pause := checkpointPause
		switch {
		case retry > 0:
			pause = retry
		default:
			select {
			case <-ctx.Done():
				return
			case <-c.signal:
			}
		}
		if !c.gather(ctx, timer, pause) {
			return
		}
		done, err := c.checkpoint(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.log.Error("the background checkpoint failed; it is tried again", "error", err)
			fallthrough
		case !done:
			retry = min(max(checkpointRetry, 2*retry), checkpointRetryMost)
		default:
			retry = 0
		}
	}
}

// gather waits until enough pages are written or the pause is over.
func (c *checkpointer) gather(ctx context.Context, timer *time.Timer, pause time.Duration) bool {
	timer.Reset(pause)
	defer timer.Stop()
	for c.pages.Load() < int64(c.wal.gathered) {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-c.signal:
		}
	}
	return ctx.Err() == nil
}

// checkpoint moves what it can without making anybody wait, and empties the
// WAL when it has grown too far. It reports whether nothing is left to do.
func (c *checkpointer) checkpoint(ctx context.Context) (bool, error) {
	c.pages.Store(0)
	moved, err := c.pragma(ctx, "PASSIVE")
	if err != nil {
		return false, err
	}
	if moved.log <= c.wal.most {
		return moved.complete(), nil
	}
	// Under a steady load there is always something left when a checkpoint
	// ends: a second one leaves less for the one that makes writers wait.
	if moved, err = c.pragma(ctx, "PASSIVE"); err != nil {
		return false, err
	}
	if time.Since(c.blocked) < checkpointRetryMost {
		return false, nil
	}
	err = c.empty(ctx)
	if errors.Is(err, errWALInUse) {
		c.blocked = time.Now()
		c.log.Warn("the WAL grows: a reader keeps an old snapshot", "wal_pages", moved.log, "checkpointed_pages", moved.done)
		return false, nil
	}
	return err == nil, err
}

var errWALInUse = errors.New("the WAL is in use by a reader or by another process's writer")

// empty moves the whole WAL into the database file, synced, and cuts the -wal
// to nothing, while no one in this process writes. (Beside a writer a
// checkpoint looks incomplete even when no reader is in its way.)
func (c *checkpointer) empty(ctx context.Context) error {
	if err := c.turn.take(ctx); err != nil {
		return err
	}
	defer c.turn.pass()
	// This one does not wait for readers: if there are any, writers need not.
	moved, err := c.pragma(ctx, "PASSIVE")
	if err == nil && moved.complete() {
		moved, err = c.pragma(ctx, "TRUNCATE")
	}
	if err == nil && (moved.busy || !moved.complete()) {
		err = errWALInUse
	}
	return err
}

// moved is what a checkpoint did: of the WAL's pages, done are in the database
// file.
type moved struct {
	busy      bool
	log, done int
}

func (m moved) complete() bool { return m.done >= m.log }

func (c *checkpointer) pragma(ctx context.Context, mode string) (moved, error) {
	var m moved
	err := c.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&m.busy, &m.log, &m.done)
	if err != nil {
		return m, fmt.Errorf("checkpoint (%s): %w", mode, err)
	}
	return m, nil
}
