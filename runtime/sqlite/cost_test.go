package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	base "modernc.org/sqlite"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// fillForCost makes rows for "a" that a claim must not meet: published and dead
// ones, some that back off, and some behind one key whose first backs off.
func fillForCost(t testing.TB, s *Store, published, dead, backingOff, blocked int) {
	t.Helper()
	n := 1_000_000
	batches := func(total int, key func(int) string, verdict outbox.Verdict, delay time.Duration) {
		for total > 0 {
			size := min(total, 1000)
			insertMany(t, s, n, size, key, "a")
			settleAll(t, s, claim(t, s, "a", size), verdict, delay)
			n, total = n+size, total-size
		}
	}
	batches(published, noKey, outbox.Deliver, 0)
	batches(dead, noKey, outbox.Quarantine, 0)
	batches(backingOff, noKey, outbox.Retry, time.Hour)
	one := func(int) string { return "blocked" }
	insertMany(t, s, n, 1, one, "a")
	settleAll(t, s, claim(t, s, "a", 1), outbox.Retry, time.Hour)
	for n++; blocked > 0; blocked -= 1000 {
		insertMany(t, s, n, min(blocked, 1000), one, "a")
		n += 1000
	}
}

// pagesOf counts the pages that the writer's connection asks its cache for: what
// a search costs, on any machine.
func pagesOf(t testing.TB, s *Store, do func()) int {
	t.Helper()
	read := func() (sum int) {
		conn, err := s.w.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		err = conn.Raw(func(dc any) error {
			for _, op := range []base.DBStatusOp{base.DBStatusCacheHit, base.DBStatusCacheMiss} {
				n, _, err := dc.(base.DBStatus).Status(op, false)
				if err != nil {
					return err
				}
				sum += n
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	before := read()
	do()
	return read() - before
}

// Rows that are dead, published, backing off or behind their key cost a claim
// and a settle nothing: with ten times as many of them they ask for hardly more
// pages. (A tree may be one level deeper, a page split at another moment; to
// look at each of the rows would cost thousands.)
func TestClaim_CostsNothingForRowsItDoesNotTake(t *testing.T) {
	published, dead, backingOff, blocked := 2000, 1000, 2000, 2000
	if soak() {
		published, dead, backingOff, blocked = 200_000, 50_000, 100_000, 100_000
	}
	const n = 50
	cost := func(s *Store, first int) map[string]int {
		costs := make(map[string]int)
		for _, kind := range []string{"ordinary", "keyed", "probe", "empty", "suspects"} {
			key, room := noKey, n
			if kind == "keyed" {
				key = func(i int) string { return fmt.Sprint("k", i%10) }
			}
			if kind != "empty" {
				insertMany(t, s, first, n, key, "a")
				first += n
			}
			req := want("a", room)
			switch kind {
			case "suspects":
				for _, d := range claim(t, s, "a", n) {
					if _, err := s.Renew(t.Context(), []outbox.Lease{d.Lease}, 0); err != nil {
						t.Fatal(err)
					}
				}
				req.Wants[0].Suspect = true
			case "probe":
				req.Wants[0].FewestRetriesFirst = true
			}
			costs[kind] = pagesOf(t, s, func() {
				c, err := s.Claim(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				settleAll(t, s, c.Deliveries, outbox.Deliver, 0)
			})
		}
		return costs
	}
	some := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
	fillForCost(t, some, published/10, dead/10, backingOff/10, blocked/10)
	many := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
	fillForCost(t, many, published, dead, backingOff, blocked)
	before, after := cost(some, 0), cost(many, 0)
	for kind := range before {
		t.Logf("%s: %d pages, %d with ten times as many other rows", kind, before[kind], after[kind])
		if after[kind] > 3*before[kind]+100 {
			t.Errorf("%s: a claim and its settle cost %d pages, and %d with ten times as many other rows", kind, before[kind], after[kind])
		}
	}
}
