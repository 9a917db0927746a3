package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
)

const (
	recheckFirst = 50 * time.Microsecond
	recheckLast  = 6400 * time.Microsecond
	// recheckBusy begins the re-checks while this process commits itself: its
	// own writes touch the file all the time.
	recheckBusy = 1600 * time.Microsecond
)

// foreign finds commits of other processes. A touch of the -wal comes while a
// commit is being written, before it can be seen, so it looks again and again
// for a while after the last touch.
type foreign struct {
	s       *Store
	db      *sql.DB
	touched <-chan struct{}
	found   func()

	version int64 // PRAGMA data_version: another connection has committed
	commits int64 // of our own writer that the last look has surely seen
	seq     int64 // the last event that the last look saw
}

func (f *foreign) run(ctx context.Context) {
	conn, err := f.db.Conn(ctx)
	if err != nil {
		f.s.log.Error("other processes' commits are not watched for", "error", err)
		return
	}
	defer conn.Close()
	f.look(ctx, conn)
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-f.touched:
			if !open {
				return
			}
		}
		for delay := f.first(); delay <= recheckLast && ctx.Err() == nil; delay *= 2 {
			if f.look(ctx, conn) {
				f.found()
			}
			timer.Reset(delay)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			select {
			case <-f.touched: // begin again, from the last touch
				delay = f.first() / 2
			default:
			}
		}
	}
}

func (f *foreign) first() time.Duration {
	if f.s.w.done.Load() != f.commits {
		return recheckBusy
	}
	return recheckFirst
}

// look reports whether another process has committed since it last looked.
// While this one commits as well, only events that it has not inserted tell;
// what is missed then, the dispatcher's slow poll finds.
func (f *foreign) look(ctx context.Context, conn *sql.Conn) bool {
	seen := f.s.w.done.Load()
	var version int64
	if err := conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return false // the next touch looks again
	}
	own := f.s.w.begun.Load() != f.commits
	f.commits = seen
	if version == f.version {
		return false
	}
	first := f.version == 0
	f.version = version
	seq, err := sqlitedb.New(conn).LastSeq(ctx)
	if err != nil {
		return false
	}
	unknown := seq > max(f.seq, f.s.w.knownSeq.Load())
	f.seq = max(f.seq, seq)
	return !first && (!own || unknown)
}
