package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Open opens the database at path, a plain file path, creating it with mode
// 0600 when there is none, and brings its schema up to date. It may be opened
// by several processes at once. The errors are *Error.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("sqlite: options: %w", err)
	}
	path, err = create(path)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, path, o)
	if err != nil {
		return nil, explain("open", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string, o Options) (_ *Store, err error) {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Store{now: o.Now, log: o.Logger, stop: stop, w: &writer{path: path}}
	var opened []*sql.DB
	defer func() {
		if err != nil {
			stop()
			for _, db := range opened {
				db.Close()
			}
		}
	}()
	pool := func(dsn, begin string, w *writer, size int) (*sql.DB, error) {
		c, err := newConnector(dsn, begin, w)
		if err != nil {
			return nil, err
		}
		db := sql.OpenDB(c)
		db.SetMaxOpenConns(size)
		db.SetMaxIdleConns(size)
		opened = append(opened, db)
		return db, nil
	}

	if s.w.db, err = pool(writerDSN(path, o.BusyTimeout), "BEGIN IMMEDIATE", s.w, 1); err != nil {
		return nil, err
	}
	if s.path, err = connect(ctx, s.w.db, o.BusyTimeout); err != nil {
		return nil, err
	}
	s.w.path = s.path
	s.w.onWake, s.w.onPages = func() {}, func(int) {}
	if err := s.migrate(ctx, o.Migrations); err != nil {
		return nil, err
	}
	if s.readers, err = pool(readerDSN(path, o.BusyTimeout), "BEGIN", nil, o.Readers); err != nil {
		return nil, err
	}
	checkpoints, err := pool(writerDSN(path, checkpointWait), "BEGIN", nil, 1)
	if err != nil {
		return nil, err
	}
	// Connected now, not at its first checkpoint: it would make a -wal that
	// somebody has removed anew, and hide that from the barrier. Failing does
	// no harm.
	_ = checkpoints.PingContext(ctx)
	if s.reads, err = pool(readerDSN(path, o.BusyTimeout), "BEGIN", nil, ownReaders); err != nil {
		return nil, err
	}

	s.ckpt = newCheckpointer(s, checkpoints, o.wal)
	if s.barrier, err = newBarrier(s.path, s.ckpt.empty); err != nil {
		return nil, err
	}
	s.watch = newWatch(s, o.NoFileWatch)
	s.w.onWake, s.w.onPages = s.watch.signal, s.ckpt.wrote
	s.tasks.Go(func() { s.ckpt.run(background) })
	return s, nil
}

// connect opens the writer's connection and returns the file's path as SQLite
// resolved it. Changing a new file to WAL mode needs the file alone for a
// moment, and SQLite does not wait for that: so this does.
func connect(ctx context.Context, db *sql.DB, patience time.Duration) (string, error) {
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		path, err := inspect(ctx, db)
		if err == nil || !errors.Is(explain("", "", err), ErrBusy) || time.Now().After(deadline) {
			return path, err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(pause):
		}
	}
}

func inspect(ctx context.Context, db *sql.DB) (string, error) {
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return "", err
	}
	if mode != "wal" {
		return "", fmt.Errorf("the journal mode is %q and does not change to WAL: the file system may lack shared memory (a network share does)", mode)
	}
	var path string
	if err := db.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path); err != nil {
		return "", err
	}
	if path == "" {
		return "", errors.New("the database has no file")
	}
	return path, nil
}

// creating keeps two Opens of one new file apart: closing a file drops the
// locks that SQLite holds on it anywhere in this process (POSIX), so the one
// that create closes must not be in use yet.
var creating sync.Mutex

// create makes an empty file that only its owner can read, unless there is
// one, and returns the absolute path.
func create(path string) (string, error) {
	refuse := func(hint string) (string, error) {
		return "", &Error{Op: "open", Path: strconv.Quote(path), Err: errors.New("not the path of a file"), Hint: hint}
	}
	switch {
	case path == "":
		return refuse("give the database a file")
	case strings.Contains(path, ":memory:") || strings.Contains(path, "mode=memory"):
		return refuse("a database in memory does not survive; use a file, in tests one in t.TempDir()")
	case strings.HasPrefix(path, "file:"):
		return refuse("give a plain path; what a URI would set, Open sets itself")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", &Error{Op: "open", Path: path, Err: err}
	}
	creating.Lock()
	defer creating.Unlock()
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return "", &Error{Op: "open", Path: path, Kind: ErrNotDatabase, Err: errors.New("it is a folder")}
		}
		return path, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist): // another process was faster
		return path, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", &Error{Op: "open", Path: path, Err: errors.New("its folder does not exist"), Hint: "make the folder first"}
	case err != nil:
		return "", &Error{Op: "open", Path: path, Kind: ErrReadOnly, Err: err, Hint: "the folder must be writable: SQLite keeps -wal and -shm beside the file"}
	}
	if err := f.Close(); err != nil {
		return "", &Error{Op: "open", Path: path, Kind: ErrIO, Err: err}
	}
	return path, nil
}

// ownReaders is how many connections the store reads with: Watch keeps one.
const ownReaders = 3

// walLimit is the size to which SQLite cuts the -wal when it begins it anew.
const walLimit = 16 << 20

// writerDSN has every pragma, so that whatever connection the pool makes has
// them too.
func writerDSN(path string, busy time.Duration) string {
	return dsn(path, "rw", busy,
		"journal_mode(WAL)",
		"synchronous(NORMAL)",
		"foreign_keys(1)",
		"wal_autocheckpoint(0)",
		"checkpoint_fullfsync(1)", // macOS: its fsync alone does not reach the disk
		fmt.Sprintf("journal_size_limit(%d)", walLimit),
		"cache_size(-8192)",
	)
}

func readerDSN(path string, busy time.Duration) string {
	return dsn(path, "ro", busy, "query_only(1)", "synchronous(NORMAL)", "cache_size(-2048)")
}

func dsn(path, mode string, busy time.Duration, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" {
		path = "/" + path // file:///C:/…
	}
	q := url.Values{"mode": {mode}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", max(busy.Milliseconds(), 1))}}
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}
