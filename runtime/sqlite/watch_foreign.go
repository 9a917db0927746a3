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
	w       *writer
	conn    *sql.Conn // of its own: data_version is one connection's view
	touched <-chan struct{}
	found   func()

	version int64 // PRAGMA data_version: another connection has committed
	commits int64 // of our own writer that the last look has surely seen
	seq     int64 // the last event that the last look saw
}

// newForeign takes a first look: what is committed after it returns is found.
func newForeign(ctx context.Context, w *writer, db *sql.DB, touched <-chan struct{}, found func()) (*foreign, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	f := &foreign{w: w, conn: conn, touched: touched, found: found}
	if _, err := f.look(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return f, nil
}

func (f *foreign) run(ctx context.Context) {
	defer f.conn.Close()
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
			// An error is a passing one, or the dispatcher meets it as well.
			if found, err := f.look(ctx); found && err == nil {
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
	if f.w.done.Load() != f.commits {
		return recheckBusy
	}
	return recheckFirst
}

// look reports whether another process has committed since it last looked.
// While this one commits as well, only events that it has not inserted tell;
// what is missed then, the dispatcher's slow poll finds.
func (f *foreign) look(ctx context.Context) (bool, error) {
	seen := f.w.done.Load()
	var version int64
	if err := f.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return false, err
	}
	own := f.w.begun.Load() != f.commits
	f.commits = seen
	if version == f.version {
		return false, nil
	}
	seq, err := sqlitedb.New(f.conn).LastSeq(ctx)
	if err != nil {
		return false, err // the version is kept: the next look asks again
	}
	unknown := seq > max(f.seq, f.w.knownSeq.Load())
	f.version, f.seq = version, max(f.seq, seq)
	return !own || unknown, nil
}
