package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// S-01: a transaction that reads before it writes does not fail because another
// connection wrote in between.
func TestInTx_ReadThenWriteNeverFindsItLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	stores := []*Store{openStore(t, path, Options{BusyTimeout: time.Minute}), openStore(t, path, Options{BusyTimeout: time.Minute})}
	execute(t, stores[0], "CREATE TABLE counter (n INTEGER NOT NULL)")
	execute(t, stores[0], "INSERT INTO counter VALUES (0)")
	each := 60
	if soak() {
		each = 1000
	}
	var wg sync.WaitGroup
	for g := range 8 {
		s := stores[g%2]
		wg.Go(func() {
			for i := range each {
				switch i % 3 {
				case 0:
					c, err := s.Claim(t.Context(), want("a", 3))
					if err != nil {
						t.Errorf("claim: %v", err)
						return
					}
					var settlements []outbox.Settlement
					for _, d := range c.Deliveries {
						settlements = append(settlements, outbox.Settlement{Lease: d.Lease, Verdict: outbox.Deliver})
					}
					if _, err := s.Settle(t.Context(), settlements); err != nil {
						t.Errorf("settle: %v", err)
						return
					}
				default:
					err := s.InTx(t.Context(), func(tx *sql.Tx) error {
						var n int
						if err := tx.QueryRow("SELECT n FROM counter").Scan(&n); err != nil {
							return err
						}
						if _, err := tx.Exec("UPDATE counter SET n = ?", n+1); err != nil {
							return err
						}
						_, err := s.Insert(t.Context(), tx, record(g*each+i, "", "a"))
						return err
					})
					if err != nil {
						t.Errorf("business transaction: %v", err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	var n int
	if err := stores[0].Readers().QueryRow("SELECT n FROM counter").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if want := 8 * (each - (each+2)/3); n != want {
		t.Errorf("the counter is at %d, want %d: an update was lost", n, want)
	}
}

func TestInTx_GoesInTheOrderOfAsking(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
	first, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []int
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			err := s.InTx(t.Context(), func(*sql.Tx) error {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		waitFor(t, func() bool { return s.w.turn.length() == i+1 })
	}
	if err := first.Rollback(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if !slices.IsSorted(order) || len(order) != 20 {
		t.Errorf("the order was %v", order)
	}
}

func (t *turn) length() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting.Len()
}

// waitFor yields until a condition holds that another goroutine brings about.
func waitFor(t testing.TB, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
		time.Sleep(100 * time.Microsecond) // between two looks
	}
}

func TestInTx_WaitEndsWithItsContext(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
	first, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.InTx(ctx, func(*sql.Tx) error { return nil }) }()
	waitFor(t, func() bool { return s.w.turn.length() == 1 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("InTx: %v", err)
	}
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	insert(t, s, record(1, "", "a")) // the turn was not lost
}

func TestInTx_PanicRollsBackAndPassesTheTurn(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic did not arrive")
			}
		}()
		_ = s.InTx(t.Context(), func(tx *sql.Tx) error {
			if _, err := s.Insert(t.Context(), tx, record(1, "", "a")); err != nil {
				t.Error(err)
			}
			panic("boom")
		})
	}()
	insert(t, s, record(2, "", "a"))
	if n := len(claim(t, s, "a", 10)); n != 1 {
		t.Errorf("%d events are there, want the second alone", n)
	}
}

func TestInTx_ReturnsTheErrorAsItIs(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
	fault := errors.New("mine")
	if err := s.InTx(t.Context(), func(*sql.Tx) error { return fault }); err != fault {
		t.Errorf("InTx returned %v", err)
	}
}

func TestBegin_CommitWakesWatchers(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{NoFileWatch: true})
	signals, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	begin := func() *sql.Tx {
		tx, err := s.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	tx := begin()
	if _, err := s.Insert(t.Context(), tx, record(1, "", "a")); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	tx = begin() // of no event
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-signals:
		t.Error("a rollback or an empty commit was signalled")
	default:
	}
	tx = begin()
	if _, err := s.Insert(t.Context(), tx, record(1, "", "a")); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-signals: // at once: COMMIT has returned
	default:
		t.Error("the commit was not signalled")
	}
}

// S-05: contexts that end at any moment leave no poisoned connection, and a row
// is there wholly or not at all.
func TestInTx_CancelledAtAnyMoment(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
	each := 100
	if soak() {
		each = 400
	}
	var mu sync.Mutex
	succeeded := make(map[int]bool)
	var wg sync.WaitGroup
	for g := range 4 {
		rnd := rand.New(rand.NewPCG(1, uint64(g)))
		wg.Go(func() {
			for i := range each {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rnd.IntN(400))*time.Microsecond)
				n := g*each + i
				err := s.InTx(ctx, func(tx *sql.Tx) error {
					if _, err := s.Insert(ctx, tx, record(n, "", "a")); err != nil {
						return err
					}
					_, err := s.Insert(ctx, tx, record(-1-n, "", "a"))
					return err
				})
				cancel()
				mu.Lock()
				succeeded[n] = err == nil
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for i := range 50 {
		insert(t, s, record(1_000_000+i, "", "b"))
	}
	there := make(map[string]bool)
	for _, d := range claim(t, s, "a", 10*each) {
		there[d.IdempotencyKey] = true
	}
	both := 0
	for n, ok := range succeeded {
		first, second := there[record(n, "").IdempotencyKey], there[record(-1-n, "").IdempotencyKey]
		if first != ok || second != ok {
			t.Errorf("transaction %d reported success: %v; its events are there: %v, %v", n, ok, first, second)
		}
		if ok {
			both++
		}
	}
	t.Logf("%d of %d transactions committed", both, len(succeeded))
}

// SQLite ends a transaction by itself on some errors. What comes after must not
// be committed alone.
func TestInTx_WhatFollowsALostTransactionFails(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
	execute(t, s, "CREATE TABLE mine (x TEXT)")
	err := s.InTx(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.Exec("INSERT INTO mine VALUES ('before')"); err != nil {
			return err
		}
		// As a full disk, an I/O error or an interrupt would.
		if _, err := tx.Exec("INSERT OR ROLLBACK INTO outbox_destination (destination, updated_at) VALUES ('', 0)"); err == nil {
			t.Error("the statement that rolls back succeeded")
		}
		// A careless caller goes on.
		if _, err := tx.Exec("INSERT INTO mine VALUES ('after')"); !errors.Is(err, errTransactionLost) {
			t.Errorf("a statement after the loss: %v", err)
		}
		if err := tx.QueryRow("SELECT count(*) FROM mine").Scan(new(int)); !errors.Is(err, errTransactionLost) {
			t.Errorf("a query after the loss: %v", err)
		}
		if _, err := s.Insert(t.Context(), tx, record(1, "", "a")); !errors.Is(err, errTransactionLost) {
			t.Errorf("an event after the loss: %v", err)
		}
		return nil
	})
	if !errors.Is(err, errTransactionLost) {
		t.Errorf("the commit of a lost transaction returned %v", err)
	}
	insert(t, s, record(2, "", "a"))
	var n int
	if err := s.Readers().QueryRow("SELECT count(*) FROM mine").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows are there, %v", n, err)
	}
	// An error that ends nothing does not end the transaction.
	err = s.InTx(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.Exec("INSERT INTO outbox_destination (destination, updated_at) VALUES ('', 0)"); err == nil {
			t.Error("the check did not hold")
		}
		_, err := tx.Exec("INSERT INTO mine VALUES ('kept')")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// S-04: an event can be inserted while the caller's own query is being read.
func TestInsert_WhileACursorIsOpen(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
	execute(t, s, "CREATE TABLE orders (id INTEGER PRIMARY KEY)")
	const read = "SELECT id FROM orders ORDER BY id"
	err := s.InTx(t.Context(), func(tx *sql.Tx) error {
		returned, err := tx.Query("INSERT INTO orders VALUES (1), (2), (3) RETURNING id")
		if err != nil {
			return err
		}
		for returned.Next() { // S-04: not read, it would not be written
		}
		if err := errors.Join(returned.Err(), returned.Close()); err != nil {
			return err
		}
		outer, err := tx.Query(read)
		if err != nil {
			return err
		}
		defer outer.Close()
		for outer.Next() {
			var id int
			if err := outer.Scan(&id); err != nil {
				return err
			}
			if _, err := s.Insert(t.Context(), tx, record(id, "k", "a")); err != nil {
				return err
			}
			var first int // the same text again: its prepared statement is in use
			if err := tx.QueryRow(read).Scan(&first); err != nil || first != 1 {
				t.Errorf("the inner query read %d, %v", first, err)
			}
		}
		return outer.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(claim(t, s, "a", 10)); n != 3 {
		t.Errorf("%d events are there", n)
	}
}

func TestInsert_IntoATransactionOfAnotherPool(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, filepath.Join(dir, "shop.db"), Options{})
	signals, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ dsn, fault string }{
		"with the WAL's promises": {"file:" + s.Path() + "?_pragma=synchronous(NORMAL)&_pragma=busy_timeout(5000)&_txlock=immediate", ""},
		"synchronous is off":      {"file:" + s.Path() + "?_pragma=synchronous(OFF)&_txlock=immediate", "synchronous=OFF"},
		"another database":        {"file:" + filepath.Join(dir, "other.db"), "begin it with the store's InTx or Begin"},
		"in memory":               {":memory:", "begin it with the store's InTx or Begin"},
	} {
		db, err := sql.Open("sqlite", c.dsn)
		if err != nil {
			t.Fatal(err)
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Insert(t.Context(), tx, record(len(name), "", "a"))
		if c.fault == "" && err != nil || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("%s: %v", name, err)
		}
		if err := errors.Join(tx.Commit(), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Insert(t.Context(), nil, record(1, "", "a")); err == nil {
		t.Error("a nil transaction was taken")
	}
	<-signals // the other pool's commit is noticed as another process's is
	if n := len(claim(t, s, "a", 10)); n != 1 {
		t.Errorf("%d events are there", n)
	}
}

func TestConn_CacheIsBounded(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{Readers: 1})
	for i := range 3 * maxStatements {
		var n int
		if err := s.Readers().QueryRow(fmt.Sprint("SELECT ", i)).Scan(&n); err != nil || n != i {
			t.Fatal(n, err)
		}
	}
	reader, err := s.Readers().Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	err = reader.Raw(func(dc any) error {
		if n := len(dc.(*conn).cache); n > maxStatements {
			t.Errorf("%d statements are kept", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestConn_KeepsWhatReadsAndWritesRows(t *testing.T) {
	for query, want := range map[string]bool{
		"SELECT 1":                               true,
		"-- name: X :one\n-- why\n  insert into": true,
		"WITH x AS (SELECT 1) SELECT 1":          true,
		"begin immediate":                        true,
		"VALUES(1)":                              true,
		"PRAGMA journal_mode":                    false,
		"CREATE TABLE x (y)":                     false,
		"ATTACH 'x' AS y":                        false,
		"VACUUM":                                 false,
		"-- only a comment":                      false,
		"":                                       false,
	} {
		if got := worthKeeping(query); got != want {
			t.Errorf("worthKeeping(%q) = %v", query, got)
		}
	}
}
