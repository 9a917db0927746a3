package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

func openStore(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var thing = outbox.Definition{
	Source: "/tests", Type: "thing.happened", Version: 1,
	Idempotency: canonical.Policy{Mode: canonical.ByEvent},
	Routes:      []outbox.Route{{Destination: "a"}},
}

// insert commits n events, each with the ordering key that key makes of its
// number.
func insert(t testing.TB, s *sqlite.Store, n int, key func(i int) string) {
	t.Helper()
	const perTx = 500
	for from := 0; from < n; from += perTx {
		drafts := make([]outbox.Draft, 0, perTx)
		for i := from; i < min(n, from+perTx); i++ {
			drafts = append(drafts, outbox.Draft{OrderingKey: key(i), Payload: fmt.Appendf(nil, `{"n":%d}`, i)})
		}
		err := s.InTx(t.Context(), func(tx *sql.Tx) error {
			_, err := outbox.InsertEvents(t.Context(), s, tx, &thing, drafts)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a dispatcher until stop, which answers Run's error.
func run(t testing.TB, s outbox.Store, cfg outbox.Config, dests ...outbox.Destination) (d *outbox.Dispatcher, stop func() error) {
	t.Helper()
	d, err := outbox.NewDispatcher(s, dests, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	return d, func() error {
		cancel()
		return <-done
	}
}

func handler(t testing.TB, h outbox.HandlerFunc, c outbox.HandlerConfig) outbox.Destination {
	t.Helper()
	dest, err := outbox.HandlerDestination("a", h, c)
	if err != nil {
		t.Fatal(err)
	}
	return dest
}

func noKey(int) string { return "" }

func TestSQLite_DeliversWhatIsCommittedAndNothingElse(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"))
	got := make(chan string, 100)
	_, stop := run(t, s, outbox.Config{}, handler(t, func(_ context.Context, d *outbox.Delivery) error {
		got <- string(d.Payload)
		return nil
	}, outbox.HandlerConfig{}))
	put := func(payload string, then error) {
		err := s.InTx(t.Context(), func(tx *sql.Tx) error {
			if _, err := outbox.InsertEvent(t.Context(), s, tx, &thing, "", []byte(payload)); err != nil {
				return err
			}
			return then
		})
		if err != then {
			t.Fatal(err)
		}
	}
	rollback := fmt.Errorf("the business failed")
	for i := range 20 {
		put(`{"phantom":true}`, rollback)
		want := fmt.Sprintf(`{"n":%d}`, i)
		put(want, nil)
		if p := <-got; p != want {
			t.Fatalf("sent %s, want %s", p, want)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if len(got) != 0 {
		t.Errorf("sent %s besides", <-got)
	}
}

// Four dispatchers of eight workers, twenty keys of a hundred events, random
// latency, one answer in ten a failure, on two stores of one file.
func TestSQLite_OrderHoldsPerKeyAcrossDispatchersAndFailures(t *testing.T) {
	const keys, events = 20, 100
	path := filepath.Join(t.TempDir(), "shop.db")
	stores := []*sqlite.Store{openStore(t, path), openStore(t, path)}
	insert(t, stores[0], keys*events, func(i int) string { return fmt.Sprint("key", i%keys) })

	var mu sync.Mutex
	firsts := map[string][]int64{}
	seen := map[int64]bool{}
	done := make(chan struct{})
	h := func(_ context.Context, d *outbox.Delivery) error {
		time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond) // of a receiver; no outcome depends on it
		if rand.IntN(10) == 0 {
			return fmt.Errorf("busy")
		}
		mu.Lock()
		defer mu.Unlock()
		if !seen[d.Seq] {
			seen[d.Seq] = true
			firsts[d.OrderingKey] = append(firsts[d.OrderingKey], d.Seq)
			if len(seen) == keys*events {
				close(done)
			}
		}
		return nil
	}
	var stops []func() error
	var dispatchers []*outbox.Dispatcher
	for i := range 4 {
		d, stop := run(t, stores[i%2], outbox.Config{}, handler(t, h, outbox.HandlerConfig{
			MaxInFlight: 8, NoBreaker: true, Retry: outbox.RetryPolicy{Base: 5 * time.Millisecond, Cap: 20 * time.Millisecond},
		}))
		stops, dispatchers = append(stops, stop), append(dispatchers, d)
	}
	<-done
	for _, stop := range stops {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	for k, seqs := range firsts {
		if len(seqs) != events || !slices.IsSorted(seqs) {
			t.Errorf("%s: first successes %v", k, seqs)
		}
	}
	var total int64
	for _, d := range dispatchers {
		st := d.Stats().Destinations[0]
		total += st.Delivered
		if st.LostLeases != 0 || st.DeadLetters != 0 {
			t.Errorf("stats %+v", st)
		}
	}
	if total != keys*events {
		t.Errorf("%d recorded as delivered, want %d", total, keys*events)
	}
}

func TestSQLite_TwoDispatchersDeliverEachEventOnce(t *testing.T) {
	const events = 2000
	path := filepath.Join(t.TempDir(), "shop.db")
	a, b := openStore(t, path), openStore(t, path)
	var sent atomic.Int64
	done := make(chan struct{})
	h := func(context.Context, *outbox.Delivery) error {
		if sent.Add(1) == events {
			close(done)
		}
		return nil
	}
	_, stopA := run(t, a, outbox.Config{}, handler(t, h, outbox.HandlerConfig{}))
	_, stopB := run(t, b, outbox.Config{}, handler(t, h, outbox.HandlerConfig{}))
	insert(t, a, events, noKey)
	<-done
	for _, stop := range []func() error{stopA, stopB} {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	if sent.Load() != events {
		t.Errorf("%d attempts for %d events", sent.Load(), events)
	}
	states, err := a.Destinations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range states {
		if st.Pending+st.Processing+st.DeadLetters != 0 {
			t.Errorf("left over: %+v", st)
		}
	}
}

func BenchmarkDrain(b *testing.B) {
	for _, c := range []struct {
		name string
		key  func(int) string
	}{
		{"unordered", noKey},
		{"1000 keys", func(i int) string { return fmt.Sprint(i % 1000) }},
		{"one key", func(int) string { return "hot" }},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := openStore(b, filepath.Join(b.TempDir(), "shop.db"))
			insert(b, s, b.N, c.key)
			var sent atomic.Int64
			done := make(chan struct{})
			b.ReportAllocs()
			b.ResetTimer()
			d, stop := run(b, s, outbox.Config{}, handler(b, func(context.Context, *outbox.Delivery) error {
				if sent.Add(1) == int64(b.N) {
					close(done)
				}
				return nil
			}, outbox.HandlerConfig{}))
			<-done
			if err := stop(); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			st := d.Stats()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(b.N)/float64(st.Claims), "events/claim")
			b.ReportMetric(float64(b.N)/float64(st.Settles), "events/settle")
		})
	}
}
