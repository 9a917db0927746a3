package sqlite

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// record is the nth event, for some destinations.
func record(n int, key string, destinations ...string) outbox.Record {
	rec := outbox.Record{
		ID: uuid.Must(uuid.NewV7()), Type: "order.created", Version: 1, OrderingKey: key,
		Payload: fmt.Appendf(nil, `{"n":%d}`, n), IdempotencyKey: fmt.Sprintf("%064x", n),
	}
	for _, d := range destinations {
		rec.Routes = append(rec.Routes, outbox.Route{Destination: d})
	}
	return rec
}

func insert(t testing.TB, s *Store, recs ...outbox.Record) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx *sql.Tx) error {
		for _, rec := range recs {
			if _, err := s.Insert(t.Context(), tx, rec); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// insertMany inserts n events from first on in one batch.
func insertMany(t testing.TB, s *Store, first, n int, key func(i int) string, destinations ...string) {
	t.Helper()
	recs := make([]outbox.Record, n)
	for i := range recs {
		recs[i] = record(first+i, key(i), destinations...)
	}
	err := s.InTx(t.Context(), func(tx *sql.Tx) error {
		_, err := s.InsertBatch(t.Context(), tx, recs)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func noKey(int) string { return "" }

func want(destination string, room int) outbox.ClaimRequest {
	return outbox.ClaimRequest{CrashLimit: 5, Wants: []outbox.Want{{Destination: destination, Room: room, Lease: time.Minute}}}
}

func claim(t testing.TB, s *Store, destination string, room int) []*outbox.Delivery {
	t.Helper()
	c, err := s.Claim(t.Context(), want(destination, room))
	if err != nil {
		t.Fatal(err)
	}
	return c.Deliveries
}

func settleAll(t testing.TB, s *Store, deliveries []*outbox.Delivery, verdict outbox.Verdict, delay time.Duration) {
	t.Helper()
	settlements := make([]outbox.Settlement, len(deliveries))
	for i, d := range deliveries {
		settlements[i] = outbox.Settlement{Lease: d.Lease, Verdict: verdict, Delay: delay, Spent: verdict == outbox.Retry, Kind: outbox.FailureExhausted}
	}
	lost, err := s.Settle(t.Context(), settlements)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range lost {
		if l {
			t.Fatalf("the settlement of %+v was lost", deliveries[i].Lease)
		}
	}
}

// count is the number of rows that a condition on outbox_delivery selects.
func count(t testing.TB, s *Store, where string) int {
	t.Helper()
	var n int
	if err := s.reads.QueryRowContext(t.Context(), "SELECT count(*) FROM outbox_delivery WHERE "+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
