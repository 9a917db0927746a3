package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/schema"
)

func TestOpen_TakesAnyPath(t *testing.T) {
	for _, name := range []string{"a b.db", "what?.db", "50%25.db", "a#b.db", "ü.db", "x&mode=ro", "-wal"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			s := openStore(t, path, Options{})
			insert(t, s, record(1, "", "a"))
			if n := len(claim(t, s, "a", 1)); n != 1 {
				t.Errorf("claimed %d", n)
			}
			if _, err := os.Stat(path); err != nil || s.Path() != path {
				t.Errorf("the path is %q, want %q: %v", s.Path(), path, err)
			}
		})
	}
}

func TestOpen_SyncsBesideTheFileThatALinkLeadsTo(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	openStore(t, filepath.Join(dir, "real", "shop.db"), Options{})
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(filepath.Join("real", "shop.db"), link); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, link, Options{})
	insert(t, s, record(1, "", "a"))
	if n := len(claim(t, s, "a", 1)); n != 1 {
		t.Errorf("claimed %d", n)
	}
	if want := filepath.Join(dir, "real", "shop.db-wal"); s.barrier.path != want {
		t.Errorf("the barrier syncs %s, want %s", s.barrier.path, want)
	}
}

func TestOpen_RefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		"":                               "give the database a file",
		":memory:":                       "does not survive",
		"file::memory:?cache=shared":     "does not survive",
		"file:x.db?mode=memory":          "does not survive",
		"file:shop.db":                   "give a plain path",
		dir:                              "it is a folder",
		filepath.Join(dir, "no/shop.db"): "make the folder first",
	} {
		_, err := Open(t.Context(), path, Options{})
		wantOneError(t, err, nil, want)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("files were left: %v, %v", entries, err)
	}
}

// wantOneError checks the text of an *Error: one line, its hint, its kind.
func wantOneError(t *testing.T, err error, kind error, part string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("the error is %v, want an *Error", err)
		return
	}
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("%q is not %q", err, kind)
	}
	if s := err.Error(); !strings.Contains(s, part) || strings.Contains(s, "\n") || !strings.HasPrefix(s, "sqlite: ") || strings.Count(s, "sqlite: ") != 1 {
		t.Errorf("the error is %q, want one line with %q", s, part)
	}
}

func TestOpen_FileIsNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	text := strings.Repeat("Dear diary, today I was taken for a database. ", 100)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), path, Options{})
	wantOneError(t, err, ErrNotDatabase, path)
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("the file was changed: %v", err)
	}
}

func TestOpen_LockedByAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	holder, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	lock, err := holder.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	for _, query := range []string{"CREATE TABLE mine (x)", "BEGIN EXCLUSIVE", "INSERT INTO mine VALUES (1)"} {
		if _, err := lock.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Open(t.Context(), path, Options{BusyTimeout: 20 * time.Millisecond})
	wantOneError(t, err, ErrBusy, "another process")
	if _, err := lock.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	openStore(t, path, Options{})
}

func TestOpen_ContextEndsTheWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openStore(t, path, Options{})
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("DROP TABLE inbox"); err != nil { // so that the second has to wait
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, path, Options{BusyTimeout: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with a context that has ended: %v", err)
	}
}

func TestOpen_RefusesANewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openStore(t, path, Options{})
	execute(t, s, fmt.Sprintf("INSERT INTO outbox_schema (version) VALUES (%d)", schema.Version()+1))
	for _, mode := range []Migrations{Auto, Check} {
		_, err := Open(t.Context(), path, Options{Migrations: mode})
		wantOneError(t, err, ErrSchema, "update this program")
	}
}

func execute(t testing.TB, s *Store, query string) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec(query)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpen_LeavesMigrationsToOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	_, err := Open(t.Context(), path, Options{Migrations: Check})
	wantOneError(t, err, ErrSchema, "outboxgen schema")

	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(schema.DDL()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, path, Options{Migrations: Check})
	insert(t, s, record(1, "", "a"))
	openStore(t, path, Options{}) // and Auto finds nothing left to do
}

func TestOpen_LeavesTheOwnersTablesAndVersionAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"CREATE TABLE orders (id)", "INSERT INTO orders VALUES (7)", "PRAGMA user_version = 42", "PRAGMA application_id = 43"} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, path, Options{})
	var version, application, orders int
	for query, into := range map[string]*int{"PRAGMA user_version": &version, "PRAGMA application_id": &application, "SELECT id FROM orders": &orders} {
		if err := s.Readers().QueryRow(query).Scan(into); err != nil {
			t.Fatal(err)
		}
	}
	if version != 42 || application != 43 || orders != 7 {
		t.Errorf("user_version is %d, application_id %d, the order %d", version, application, orders)
	}
}

// Many processes start at once on no file at all: all open it, and it is
// migrated once.
func TestOpen_ProcessesAtOnceMigrateOnce(t *testing.T) {
	for round := range 3 {
		path := filepath.Join(t.TempDir(), fmt.Sprint(round, ".db"))
		cmds := make([]*exec.Cmd, 6)
		outs := make([]strings.Builder, len(cmds))
		for i := range cmds {
			cmds[i] = child(t, "open", path, fmt.Sprint(i))
			cmds[i].Stdout, cmds[i].Stderr = &outs[i], &outs[i]
			if err := cmds[i].Start(); err != nil {
				t.Fatal(err)
			}
		}
		for i, cmd := range cmds {
			if err := cmd.Wait(); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, &outs[i])
			}
		}
		s := openStore(t, path, Options{})
		if n := len(claim(t, s, "a", 100)); n != len(cmds) {
			t.Errorf("%d of %d events are there", n, len(cmds))
		}
	}
}

func childOpen(ctx context.Context, args []string) error {
	s, err := Open(ctx, args[0], Options{BusyTimeout: time.Minute})
	if err != nil {
		return err
	}
	var n int
	if _, err := fmt.Sscan(args[1], &n); err != nil {
		return err
	}
	err = s.InTx(ctx, func(tx *sql.Tx) error {
		_, err := s.Insert(ctx, tx, record(n, "", "a"))
		return err
	})
	return errors.Join(err, s.Close())
}

func TestOpen_ListsEveryFaultOfItsOptions(t *testing.T) {
	_, err := Open(t.Context(), filepath.Join(t.TempDir(), "shop.db"), Options{Readers: -1, BusyTimeout: -1, Migrations: 7})
	for _, part := range []string{"Readers is -1", "BusyTimeout is -1ns", "Migrations is 7"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

// S-02: a pragma that is executed reaches one connection of a pool.
func TestOpen_EveryConnectionHasThePragmas(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{BusyTimeout: 1234 * time.Millisecond, Readers: 4})
	var conns []*sql.Conn
	for range 4 {
		conn, err := s.Readers().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	for i, conn := range conns {
		got := pragmas(t, conn, "busy_timeout", "journal_mode", "query_only", "synchronous")
		if want := []string{"1234", "wal", "1", "1"}; !slices.Equal(got, want) {
			t.Errorf("reader %d has %v, want %v", i, got, want)
		}
	}
	if _, err := conns[0].ExecContext(t.Context(), "PRAGMA query_only = 0; DELETE FROM outbox"); !errors.Is(explain("", "", err), ErrReadOnly) {
		t.Errorf("a reader could write: %v", err)
	}
	for round := range 2 {
		writer, err := s.w.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := pragmas(t, writer, "busy_timeout", "journal_mode", "synchronous", "foreign_keys", "wal_autocheckpoint")
		if want := []string{"1234", "wal", "1", "1", "0"}; !slices.Equal(got, want) {
			t.Errorf("the writer has %v, want %v, in round %d", got, want, round)
		}
		// The next round has a new connection.
		_ = writer.Raw(func(any) error { return errBad })
		writer.Close()
		s.w.db.SetMaxIdleConns(-1)
		s.w.db.SetMaxIdleConns(1)
	}
}

var errBad = errors.New("bad")

func pragmas(t *testing.T, conn *sql.Conn, names ...string) []string {
	t.Helper()
	values := make([]string, len(names))
	for i, name := range names {
		if err := conn.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&values[i]); err != nil {
			t.Fatal(err)
		}
	}
	return values
}

func TestClose_MayBeCalledTwiceAndEndsTheWatch(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "shop.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	signals, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range signals { // ends, since the channel is closed
	}
	if _, err := s.Claim(t.Context(), outbox.ClaimRequest{}); err == nil {
		t.Error("a closed store claims")
	}
	if signals, err := s.Watch(t.Context()); err != nil {
		t.Error(err)
	} else if _, open := <-signals; open {
		t.Error("a closed store watches")
	}
	if matches, err := filepath.Glob(s.Path() + "-*"); err != nil || len(matches) > 0 {
		t.Errorf("left beside the database: %v, %v", matches, err)
	}
}
