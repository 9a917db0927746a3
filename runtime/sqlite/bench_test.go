package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

func BenchmarkInsert(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprintf("transaction=%d", size), func(b *testing.B) {
			s := openStore(b, filepath.Join(b.TempDir(), "shop.db"), Options{})
			n := 0
			for b.Loop() {
				err := s.InTx(b.Context(), func(tx *sql.Tx) error {
					for range size {
						n++
						if _, err := s.Insert(b.Context(), tx, record(n, "", "a", "b")); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			perEvent(b, "insert", b.Elapsed(), n)
		})
	}
}

func perEvent(b *testing.B, what string, d time.Duration, n int) {
	b.ReportMetric(float64(d.Nanoseconds())/float64(n), what+"-ns/event")
}

// BenchmarkClaimAndSettle drains batches of 100, the sync of the WAL included.
func BenchmarkClaimAndSettle(b *testing.B) {
	for name, key := range map[string]func(int) string{
		"unordered": noKey,
		"100 keys":  func(i int) string { return fmt.Sprint(i % 100) },
		"one key":   func(int) string { return "k" },
	} {
		b.Run(name, func(b *testing.B) {
			s := openStore(b, filepath.Join(b.TempDir(), "shop.db"), Options{})
			n := 0
			var claiming, settling time.Duration
			for b.Loop() {
				b.StopTimer()
				insertMany(b, s, n, 100, key, "a")
				n += 100
				b.StartTimer()
				began := time.Now()
				ds := claim(b, s, "a", 100)
				claimed := time.Now()
				if len(ds) != 100 {
					b.Fatalf("claimed %d", len(ds))
				}
				settleAll(b, s, ds, outbox.Deliver, 0)
				claiming, settling = claiming+claimed.Sub(began), settling+time.Since(claimed)
			}
			perEvent(b, "claim", claiming, n)
			perEvent(b, "settle", settling, n)
		})
	}
}

// BenchmarkProbe claims for a breaker's probe among many due deliveries that
// have all been tried: the worst case of FewestRetriesFirst.
func BenchmarkProbe(b *testing.B) {
	for _, waiting := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			s := openStore(b, filepath.Join(b.TempDir(), "shop.db"), Options{})
			for n := 0; n < waiting; n += 1000 {
				insertMany(b, s, n, 1000, noKey, "a")
				settleAll(b, s, claim(b, s, "a", 1000), outbox.Retry, time.Minute)
			}
			s.now = func() time.Time { return time.Now().Add(time.Hour) }
			req := want("a", 2)
			req.Wants[0].FewestRetriesFirst = true
			for b.Loop() {
				c, err := s.Claim(b.Context(), req)
				if err != nil || len(c.Deliveries) != 2 {
					b.Fatal(len(c.Deliveries), err)
				}
				settleAll(b, s, c.Deliveries, outbox.GiveBack, 0)
			}
		})
	}
}
