package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// limitPages lets the database grow no more than by some pages: as a full disk.
func limitPages(t *testing.T, s *Store, more int) {
	t.Helper()
	conn, err := s.w.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var pages int
	if err := conn.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRowContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages+more)).Scan(new(int)); err != nil {
		t.Fatal(err)
	}
}

func TestFaults_DiskFull(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
	execute(t, s, "CREATE TABLE orders (id INTEGER PRIMARY KEY)")
	insertMany(t, s, 0, 50, noKey, "a")
	limitPages(t, s, 3)
	var err error
	committed := 50
	for n := 50; err == nil && n < 10_000; n++ {
		err = s.InTx(t.Context(), func(tx *sql.Tx) error {
			if _, err := tx.Exec("INSERT INTO orders VALUES (?)", n); err != nil {
				return err
			}
			_, err := s.Insert(t.Context(), tx, record(n, "", "a"))
			return err
		})
		if err == nil {
			committed++
		}
	}
	wantOneError(t, err, ErrFull, "free some space")

	// A claim may need a page as well; then it claims nothing.
	if c, err := s.Claim(t.Context(), want("a", 10_000)); err != nil {
		wantOneError(t, err, ErrFull, "free some space")
	} else {
		settleAll(t, s, c.Deliveries, outbox.GiveBack, 0)
	}
	var orders int
	if err := s.Readers().QueryRow("SELECT count(*) FROM orders").Scan(&orders); err != nil || orders != committed-50 {
		t.Errorf("%d orders and %d events of theirs: %v", orders, committed-50, err)
	}
	limitPages(t, s, 10_000) // and without a restart, when there is space again:
	insert(t, s, record(20_000, "", "a"))
	ds := claim(t, s, "a", 10_000)
	if len(ds) != committed+1 {
		t.Errorf("%d of %d events are there", len(ds), committed+1)
	}
	settleAll(t, s, ds, outbox.Deliver, 0)
}

// Another process holds the lock for longer than the store waits.
func TestFaults_LockedByAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openStore(t, path, Options{BusyTimeout: 10 * time.Millisecond})
	other := openStore(t, path, Options{})
	insertMany(t, s, 0, 3, noKey, "a")
	held := claim(t, s, "a", 1)
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err = s.Claim(t.Context(), want("a", 1))
		wantOneError(t, err, ErrBusy, "another process")
		_, err = s.Settle(t.Context(), []outbox.Settlement{{Lease: held[0].Lease, Verdict: outbox.Deliver}})
		wantOneError(t, err, ErrBusy, "another process")
		_, err = s.Renew(t.Context(), []outbox.Lease{held[0].Lease}, time.Minute)
		wantOneError(t, err, ErrBusy, "another process")
		wantOneError(t, s.InTx(t.Context(), func(*sql.Tx) error { return nil }), ErrBusy, "another process")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	settleAll(t, s, held, outbox.Deliver, 0)
	if n := len(claim(t, s, "a", 10)); n != 2 {
		t.Errorf("claimed %d", n)
	}
}

// The wait for another process's lock ends when the context does.
func TestFaults_LockedAndCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openStore(t, path, Options{BusyTimeout: time.Hour})
	other := openStore(t, path, Options{})
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Claim(ctx, want("a", 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("claim: %v", err)
	}
}

func TestFaults_CorruptPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	insertMany(t, s, 0, 200, noKey, "a")
	var page int
	if err := s.Readers().QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'outbox_delivery_due'").Scan(&page); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("\xff", 4096)), int64(page-1)*4096); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, path, Options{})
	_, err = s.Claim(t.Context(), want("a", 10))
	wantOneError(t, err, ErrCorrupt, "integrity_check")
	wantOneError(t, s.InTx(t.Context(), func(tx *sql.Tx) error {
		_, err := s.Insert(t.Context(), tx, record(1000, "", "a"))
		return err
	}), ErrCorrupt, "restore from a backup")
	if got, err := s.Destinations(t.Context()); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Destinations: %v, %v", got, err)
	}
}

func TestFaults_ClockSteps(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{Now: func() time.Time { return now }})
	suspect := func() []*outbox.Delivery {
		t.Helper()
		req := want("a", 0)
		req.Wants[0].Suspect = true
		c, err := s.Claim(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return c.Deliveries
	}

	// Forward: leases end early. Who held one settles it if nobody was faster.
	insertMany(t, s, 0, 2, noKey, "a")
	ds := claim(t, s, "a", 2)
	now = now.Add(time.Hour)
	settleAll(t, s, ds[1:], outbox.Deliver, 0)
	again := suspect()
	if len(again) != 1 || again[0].Seq != ds[0].Seq {
		t.Fatalf("claimed %v", again)
	}
	lost, err := s.Settle(t.Context(), []outbox.Settlement{{Lease: ds[0].Lease, Verdict: outbox.Deliver}})
	if err != nil || !lost[0] {
		t.Errorf("the first holder's settle: %v, %v", lost, err)
	}
	settleAll(t, s, again, outbox.Deliver, 0)

	// Back: what was due waits for as long as the step, and nothing is lost.
	insertMany(t, s, 10, 2, noKey, "a")
	settleAll(t, s, claim(t, s, "a", 1), outbox.Retry, time.Minute)
	now = now.Add(-time.Hour)
	insert(t, s, record(20, "", "a"))
	if n := len(claim(t, s, "a", 10)); n != 1 {
		t.Errorf("claimed %d, want what was inserted since the step", n)
	}
	c, err := s.Claim(t.Context(), want("a", 10))
	if err != nil || len(c.Deliveries) != 0 || c.States[0].NextDue > time.Hour {
		t.Errorf("claimed %v, %+v, %v", c.Deliveries, c.States, err)
	}
	now = now.Add(time.Hour + time.Minute)
	if n := len(claim(t, s, "a", 10)); n != 2 {
		t.Errorf("claimed %d when the step had passed", n)
	}
}
