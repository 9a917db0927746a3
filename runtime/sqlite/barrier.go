package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// barrier makes sure that everything committed so far, by any process, is on
// disk: it syncs the -wal.
//
// It keeps one descriptor of it. Opening and closing the -wal is harmless, but
// a descriptor that has been open since the pages were written is the one that
// is certain to be told of their loss. (The database file and the -shm must
// never be opened beside SQLite: closing them drops its locks.)
type barrier struct {
	path     string
	database string
	opened   os.FileInfo // the database file when it was opened
	// checkpoint moves the whole WAL into the database file, synced, and
	// empties it, or fails.
	checkpoint func(ctx context.Context) error
	files      files

	mu   sync.Mutex
	next *syncing // the one that has not begun

	turn   sync.Mutex // guards what follows; held while syncing
	wal    syncFile
	broken atomic.Pointer[Error] // may be read without turn
}

// files is the file system; tests make it fail.
type files interface {
	Stat(path string) (os.FileInfo, error)
	Open(path string) (syncFile, error)
	SyncFolder(path string) error
}

type syncFile interface {
	Stat() (os.FileInfo, error)
	Sync() error
	Close() error
}

// syncing is one sync and those who wait for it.
type syncing struct {
	done chan struct{}
	err  error
}

func newBarrier(database string, checkpoint func(context.Context) error) (*barrier, error) {
	b := &barrier{path: database + "-wal", database: database, checkpoint: checkpoint, files: osFiles{}}
	var err error
	b.opened, err = b.files.Stat(database)
	return b, err
}

// sync returns when all that was committed before the call is on disk. Those
// who call it while another sync runs share the one after it.
func (b *barrier) sync() error {
	b.mu.Lock()
	s, first := b.next, false
	if s == nil {
		s, first = &syncing{done: make(chan struct{})}, true
		b.next = s
	}
	b.mu.Unlock()
	if !first {
		<-s.done
		return s.err
	}
	b.turn.Lock()
	b.mu.Lock()
	b.next = nil // who comes now has committed too late for this one
	b.mu.Unlock()
	s.err = b.syncWAL()
	b.turn.Unlock()
	close(s.done)
	return s.err
}

func (b *barrier) syncWAL() error {
	if broken := b.broken.Load(); broken != nil {
		return broken
	}
	err := b.follow()
	if err == nil {
		err = b.wal.Sync()
	}
	if err == nil || errors.Is(err, os.ErrNotExist) || errors.Is(err, errReplaced) {
		return err
	}
	broken := &Error{Op: "sync", Path: b.path, Kind: ErrNotSynced, Err: err, Hint: "nothing is sent until a complete checkpoint has been synced"}
	b.broken.Store(broken)
	return broken
}

// errReplaced: SQLite goes on with the file that it has open, and what it
// commits ends with the last process that has.
var errReplaced = errors.New("the database file was replaced")

// follow sees to it that b.wal is the file that has the name now.
func (b *barrier) follow() error {
	database, err := b.files.Stat(b.database)
	if err == nil && !os.SameFile(database, b.opened) {
		err = errReplaced
	}
	if err != nil {
		return &Error{Op: "sync", Path: b.database, Kind: ErrNotSynced, Err: err, Hint: "it was removed or replaced under a running process: stop all of them before a database is restored"}
	}
	named, err := b.files.Stat(b.path)
	if err != nil {
		return &Error{Op: "sync", Path: b.path, Kind: ErrNotSynced, Err: err, Hint: "somebody removed it under a running process: stop all of them, check the database and start again"}
	}
	if b.wal != nil {
		held, err := b.wal.Stat()
		if err != nil {
			return err
		}
		if os.SameFile(named, held) {
			return nil
		}
	}
	fresh, err := b.files.Open(b.path)
	if err != nil {
		return err
	}
	if err := b.files.SyncFolder(filepath.Dir(b.path)); err != nil {
		fresh.Close()
		return err
	}
	if b.wal != nil {
		b.wal.Close() // nothing was written through it
	}
	b.wal = fresh
	return nil
}

// ready fails while a failed sync has not been made good. After one the
// kernel may hold pages for clean that are not on disk, and another sync
// would succeed and prove nothing. A complete checkpoint writes all of them
// anew, into the database file, and syncs that; it must leave the -wal empty,
// since what it has lost would make recovery stop early and bring old pages
// back over new ones.
func (b *barrier) ready(ctx context.Context) error {
	if b.broken.Load() == nil {
		return nil
	}
	b.turn.Lock()
	defer b.turn.Unlock()
	broken := b.broken.Load()
	if broken == nil {
		return nil
	}
	if err := b.checkpoint(ctx); err != nil {
		return fmt.Errorf("%w; a checkpoint that would make it good failed: %w", broken, err)
	}
	if err := b.follow(); err != nil {
		return fmt.Errorf("%w; after a checkpoint: %w", broken, err)
	}
	if err := b.wal.Sync(); err != nil {
		return fmt.Errorf("%w; and again, after a checkpoint: %w", broken, err)
	}
	b.broken.Store(nil)
	return nil
}

func (b *barrier) close() error {
	b.turn.Lock()
	defer b.turn.Unlock()
	if b.wal == nil {
		return nil
	}
	err := b.wal.Close()
	b.wal = nil
	return err
}
