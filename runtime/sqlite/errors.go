package sqlite

import (
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What went wrong, for errors.Is. Every *Error wraps one of them or none.
var (
	ErrBusy        = errors.New("another process holds the database's lock")
	ErrReadOnly    = errors.New("the database cannot be written")
	ErrFull        = errors.New("the disk is full")
	ErrNotDatabase = errors.New("the file is not a SQLite database")
	ErrCorrupt     = errors.New("the database is damaged")
	ErrIO          = errors.New("the file system reported an error")
	ErrSchema      = errors.New("the schema is not the one this program needs")
	// ErrNotSynced: what was committed may not be on disk yet.
	ErrNotSynced = errors.New("the -wal file could not be synced")
)

// Error is a failure of the database: what was done to which file, what it
// means and what to do about it.
type Error struct {
	Op   string // open, begin, commit, claim, …
	Path string
	Kind error  // ErrBusy, …; nil when it is none of them
	Hint string // what to do; "" when there is nothing to say
	Err  error  // the cause; may be nil
}

func (e *Error) Error() string {
	s := fmt.Sprintf("sqlite: %s %s", e.Op, e.Path)
	if e.Kind != nil {
		s += ": " + e.Kind.Error()
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *Error) Unwrap() []error {
	var errs []error
	if e.Kind != nil {
		errs = append(errs, e.Kind)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// explain wraps a driver's error; nil stays nil, and so does what is explained
// already.
func explain(op, path string, err error) error {
	var explained *Error
	if err == nil || errors.As(err, &explained) {
		return err
	}
	e := &Error{Op: op, Path: path, Err: err}
	switch code(err) & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		e.Kind, e.Hint = ErrBusy, "look for a long transaction, or raise Options.BusyTimeout"
	case sqlite3.SQLITE_READONLY:
		e.Kind, e.Hint = ErrReadOnly, "the file and its folder must be writable: SQLite keeps -wal and -shm beside it"
	case sqlite3.SQLITE_CANTOPEN:
		e.Kind, e.Hint = ErrReadOnly, "the folder must exist and be writable: SQLite keeps -wal and -shm beside the file"
	case sqlite3.SQLITE_FULL:
		e.Kind, e.Hint = ErrFull, "nothing of this transaction was kept; free some space and try again"
	case sqlite3.SQLITE_NOTADB:
		e.Kind, e.Hint = ErrNotDatabase, "look whether the path is right; nothing was changed"
	case sqlite3.SQLITE_CORRUPT:
		e.Kind, e.Hint = ErrCorrupt, "run PRAGMA integrity_check and restore from a backup"
	case sqlite3.SQLITE_IOERR:
		e.Kind = ErrIO
	}
	return e
}

// code is SQLite's extended result code, 0 when err is not SQLite's.
func code(err error) int {
	var e *driver.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}
