package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// watchedFiles is the real file system, that tells what is done to it and
// fails on demand.
type watchedFiles struct {
	osFiles
	mu      sync.Mutex
	calls   []string
	fail    map[string]error
	onSync  func()
	missing bool
}

func (w *watchedFiles) did(what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, what)
	return w.fail[what]
}

func (w *watchedFiles) taken() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := strings.Join(w.calls, " ")
	w.calls = nil
	return calls
}

func (w *watchedFiles) failing(what string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = map[string]error{what: err}
}

func (w *watchedFiles) Stat(path string) (os.FileInfo, error) {
	if w.missing {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
	}
	return w.osFiles.Stat(path)
}

func (w *watchedFiles) Open(path string) (syncFile, error) {
	if err := w.did("open"); err != nil {
		return nil, err
	}
	f, err := w.osFiles.Open(path)
	return &watchedFile{f, w}, err
}

func (w *watchedFiles) SyncFolder(path string) error {
	if err := w.did("syncfolder"); err != nil {
		return err
	}
	return w.osFiles.SyncFolder(path)
}

type watchedFile struct {
	syncFile
	w *watchedFiles
}

func (f *watchedFile) Sync() error {
	if f.w.onSync != nil {
		f.w.onSync()
	}
	if err := f.w.did("sync"); err != nil {
		return err
	}
	return f.syncFile.Sync()
}

func (f *watchedFile) Close() error {
	_ = f.w.did("close")
	return f.syncFile.Close()
}

// openWatched is openStore with watched files and one event for "a".
func openWatched(t *testing.T) (*Store, *watchedFiles) {
	t.Helper()
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
	files := &watchedFiles{}
	s.barrier.files = files
	insert(t, s, record(1, "", "a"))
	return s, files
}

var errDisk = errors.New("input/output error")

func TestClaim_SyncsTheWALAfterItsCommitAndBeforeItReturns(t *testing.T) {
	s, files := openWatched(t)
	leasedAtSync := -1
	files.onSync = func() { leasedAtSync = count(t, s, "status = 'PROCESSING'") }
	if n := len(claim(t, s, "a", 1)); n != 1 {
		t.Fatalf("claimed %d", n)
	}
	if leasedAtSync != 1 {
		t.Errorf("%d leases were committed when the WAL was synced, want 1", leasedAtSync)
	}
	// The first time, the file's entry in its folder must be durable as well.
	if got := files.taken(); got != "open syncfolder sync" {
		t.Errorf("the claim did %q", got)
	}
	insert(t, s, record(2, "", "a"))
	claim(t, s, "a", 1)
	if got := files.taken(); got != "sync" {
		t.Errorf("the next claim did %q, want a sync through the same descriptor", got)
	}
}

func TestClaim_OfNothingSyncsNothing(t *testing.T) {
	s, files := openWatched(t)
	claim(t, s, "a", 1)
	files.taken()
	claim(t, s, "a", 1)
	if got := files.taken(); got != "" {
		t.Errorf("an empty claim did %q", got)
	}
}

func TestClaim_SyncsWithNoLockHeld(t *testing.T) {
	s, files := openWatched(t)
	files.onSync = func() {
		if err := s.InTx(t.Context(), func(*sql.Tx) error { return nil }); err != nil {
			t.Errorf("nobody can write during the sync: %v", err)
		}
	}
	claim(t, s, "a", 1)
}

func TestClaim_FailedSyncReturnsNothingAndIsNotMerelyRetried(t *testing.T) {
	for _, step := range []string{"sync", "syncfolder", "open"} {
		t.Run(step, func(t *testing.T) {
			s, files := openWatched(t)
			files.failing(step, errDisk)
			c, err := s.Claim(t.Context(), want("a", 1))
			if !errors.Is(err, ErrNotSynced) || !errors.Is(err, errDisk) || len(c.Deliveries) != 0 {
				t.Fatalf("the claim returned %d deliveries and %v", len(c.Deliveries), err)
			}
			if n := count(t, s, "status = 'PENDING' AND retry_count = 0 AND crash_count = 0 AND suspect = 0"); n != 1 {
				t.Fatalf("%d deliveries are as before: the claim was not given back", n)
			}

			// Syncs would succeed again, and mean nothing: a reader keeps the
			// checkpoint from being complete, so no claim may succeed.
			files.failing("", nil)
			reader := openSnapshot(t, s)
			if _, err := s.Claim(t.Context(), want("a", 1)); !errors.Is(err, ErrNotSynced) || !errors.Is(err, errWALInUse) {
				t.Fatalf("a claim after a failed sync, without a checkpoint: %v", err)
			}
			if err := reader.Rollback(); err != nil {
				t.Fatal(err)
			}
			files.taken()
			if n := len(claim(t, s, "a", 1)); n != 1 {
				t.Fatalf("claimed %d after the checkpoint", n)
			}
			if got := files.taken(); !strings.HasSuffix(got, "sync sync") {
				t.Errorf("the recovery did %q, want a sync of the emptied WAL and one of the claim", got)
			}
		})
	}
}

// openSnapshot begins a read transaction, and writes something that it does not
// see: the WAL cannot be emptied until it ends.
func openSnapshot(t *testing.T, s *Store) *sql.Tx {
	t.Helper()
	reader, err := s.Readers().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRow("SELECT count(*) FROM outbox").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if err := s.SetDestination(t.Context(), outbox.DestinationChange{Destination: "other", Action: outbox.Disable}); err != nil {
		t.Fatal(err)
	}
	return reader
}

func TestClaim_FailedSyncOfASuspectUndoesItsRaise(t *testing.T) {
	s, files := openWatched(t)
	d := claim(t, s, "a", 1)
	if _, err := s.Renew(t.Context(), []outbox.Lease{d[0].Lease}, 0); err != nil {
		t.Fatal(err)
	}
	files.failing("sync", errDisk)
	req := want("a", 1)
	req.Wants[0].Suspect = true
	if _, err := s.Claim(t.Context(), req); !errors.Is(err, ErrNotSynced) {
		t.Fatalf("claim: %v", err)
	}
	if n := count(t, s, "status = 'PENDING' AND suspect = 1 AND crash_count = 0"); n != 1 {
		t.Error("the suspect's crash count was not taken back")
	}
}

func TestClaim_FailedSyncAgainAfterTheCheckpoint(t *testing.T) {
	s, files := openWatched(t)
	files.failing("sync", errDisk)
	for range 3 {
		if _, err := s.Claim(t.Context(), want("a", 1)); !errors.Is(err, ErrNotSynced) {
			t.Fatalf("claim: %v", err)
		}
	}
	files.failing("", nil)
	if n := len(claim(t, s, "a", 1)); n != 1 {
		t.Errorf("claimed %d", n)
	}
}

func TestClaim_FollowsARecreatedWAL(t *testing.T) {
	s, files := openWatched(t)
	claim(t, s, "a", 1)
	files.taken()
	// As when all connections were closed and opened again: the name stands for
	// another file.
	wal := s.path + "-wal"
	content, err := os.ReadFile(wal)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(wal, wal+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(wal, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.barrier.sync(); err != nil {
		t.Fatal(err)
	}
	if got := files.taken(); got != "open syncfolder close sync" {
		t.Errorf("the sync did %q, want the new file and its folder to be synced", got)
	}
	if err := os.Rename(wal+".old", wal); err != nil { // SQLite still has this one
		t.Fatal(err)
	}
}

func TestClaim_MissingWALIsAnError(t *testing.T) {
	s, files := openWatched(t)
	files.missing = true
	if _, err := s.Claim(t.Context(), want("a", 1)); !errors.Is(err, ErrNotSynced) || !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("claim: %v", err)
	}
	if n := count(t, s, "status = 'PENDING'"); n != 1 {
		t.Error("the claim was not given back")
	}
	files.missing = false
	if n := len(claim(t, s, "a", 1)); n != 1 {
		t.Errorf("claimed %d when it was there again", n)
	}
}

// Nothing of ours may make a removed -wal anew: SQLite writes to the old one.
func TestClaim_RemovedWALStaysMissing(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
	if err := os.Remove(s.path + "-wal"); err != nil {
		t.Skipf("the system keeps an open file's name: %v", err)
	}
	insert(t, s, record(1, "", "a"))
	if _, err := s.ckpt.checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(t.Context(), want("a", 1)); !errors.Is(err, ErrNotSynced) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("claim: %v", err)
	}
}

// A backup that is moved over the file of a running process: SQLite goes on
// with the old one, which is gone when the process ends.
func TestClaim_ReplacedDatabaseSendsNothing(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"another file": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"no file":      func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := openWatched(t)
			insert(t, s, record(2, "", "a"))
			claim(t, s, "a", 1)
			if err := os.Rename(s.path, s.path+".old"); err != nil {
				t.Skipf("the system keeps an open file's name: %v", err)
			}
			if err := replace(s.path); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Claim(t.Context(), want("a", 1)); !errors.Is(err, ErrNotSynced) {
				t.Fatalf("claim: %v", err)
			}
			if err := os.Rename(s.path+".old", s.path); err != nil {
				t.Fatal(err)
			}
			if n := len(claim(t, s, "a", 1)); n != 1 {
				t.Errorf("claimed %d when it was there again", n)
			}
		})
	}
}

// The receiver answers 200 and the sender forgets: what Apply reports must be
// on disk, a duplicate's first application too.
func TestInbox_AppliedIsOnDisk(t *testing.T) {
	s, files := openWatched(t)
	apply := func() (inbox.Result, error) {
		return s.Inbox().Apply(t.Context(), inbox.Entry{Consumer: "c", IdempotencyKey: "k", EventID: "e", Fingerprint: "f"},
			func(context.Context, *sql.Tx) error { return nil })
	}
	files.failing("sync", errDisk)
	if r, err := apply(); !errors.Is(err, ErrNotSynced) || r == inbox.Applied {
		t.Fatalf("Apply returned %v, %v though the sync failed", r, err)
	}
	if r, err := apply(); !errors.Is(err, ErrNotSynced) || r == inbox.Duplicate {
		t.Fatalf("Apply returned %v, %v of what may not be on disk", r, err)
	}
	files.failing("", nil)
	if r, err := apply(); err != nil || r != inbox.Duplicate {
		t.Fatalf("Apply returned %v, %v", r, err)
	}
	if got := files.taken(); !strings.HasSuffix(got, "sync") {
		t.Errorf("it did %q", got)
	}
}

// Those who come while a sync runs share the next one.
func TestBarrier_SyncsForManyAtOnce(t *testing.T) {
	s, files := openWatched(t)
	inside, release := make(chan struct{}), make(chan struct{})
	first := true
	files.onSync = func() {
		if first {
			first = false
			close(inside)
			<-release
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.barrier.sync(); err != nil {
			t.Error(err)
		}
	})
	<-inside
	const n = 20
	joined := make(chan struct{}, n)
	for range n {
		wg.Go(func() {
			joined <- struct{}{}
			if err := s.barrier.sync(); err != nil {
				t.Error(err)
			}
		})
	}
	for range n {
		<-joined
	}
	close(release)
	wg.Wait()
	syncs := slices.DeleteFunc(strings.Fields(files.taken()), func(c string) bool { return c != "sync" })
	// Some may have called too late for the second one; never does each need its own.
	if len(syncs) < 2 || len(syncs) > n/2 {
		t.Errorf("%d syncs for %d callers", len(syncs), n+1)
	}
}
