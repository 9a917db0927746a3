package inbox_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/outboxtest"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
	"github.com/outboxgen/outboxgen/runtime/webhook"
)

func openSQLite(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// ledger is a consumer's own table. It has no unique key: a second effect
// would show.
type ledger struct{ store *sqlite.Store }

func openLedger(t testing.TB, path string) ledger {
	t.Helper()
	l := ledger{openSQLite(t, path)}
	if err := l.store.InTx(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec("CREATE TABLE IF NOT EXISTS ledger (order_id TEXT NOT NULL, event_id TEXT NOT NULL)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return l
}

func book(ctx context.Context, tx *sql.Tx, body []byte, m inbox.Message) error {
	var e struct {
		OrderID string `json:"order_id"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return fmt.Errorf("%w: %w", inbox.ErrUndecodable, err)
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO ledger (order_id, event_id) VALUES (?, ?)", e.OrderID, m.EventID.String())
	return err
}

func (l ledger) count(t testing.TB) (rows, orders int) {
	t.Helper()
	if err := l.store.Readers().QueryRow("SELECT count(*), count(DISTINCT order_id) FROM ledger").Scan(&rows, &orders); err != nil {
		t.Fatal(err)
	}
	return rows, orders
}

func (l ledger) want(t testing.TB, n int) {
	t.Helper()
	if rows, orders := l.count(t); rows != n || orders != n {
		t.Fatalf("the ledger has %d rows of %d orders, want %d", rows, orders, n)
	}
}

func (l ledger) receiver(t testing.TB, store inbox.Store[*sql.Tx], cfg inbox.Config) *inbox.Receiver {
	t.Helper()
	receiver, err := inbox.NewReceiver(store, []inbox.EventType[*sql.Tx]{
		{Type: "order.created", Version: 1, Idempotency: byOrder, Apply: book},
	}, cfg.Or(inbox.Config{Consumer: "billing", Sources: []string{source}, Secrets: []string{secretText(1)}}))
	if err != nil {
		t.Fatal(err)
	}
	return receiver
}

// deliver gives d to a receiver on the ledger.
func (l ledger) deliver(t testing.TB, d delivery) answered {
	t.Helper()
	return serveOne(t, l.receiver(t, l.store.Inbox(), inbox.Config{}), d)
}

func serveOne(t testing.TB, receiver *inbox.Receiver, d delivery) answered {
	t.Helper()
	w := httptest.NewRecorder()
	receiver.ServeHTTP(w, d.request(t, "/", time.Now(), mustSecret(t, secretText(1))))
	return readAnswer(t, w.Result())
}

// settled counts deliveries that the store has recorded as published.
type settled struct {
	outbox.Store
	mu   sync.Mutex
	left int
	done chan struct{} // closed when left is 0
}

func (s *settled) Settle(ctx context.Context, settlements []outbox.Settlement) ([]bool, error) {
	lost, err := s.Store.Settle(ctx, settlements)
	if err != nil {
		return lost, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, settlement := range settlements {
		if settlement.Verdict == outbox.Deliver && !lost[i] {
			if s.left--; s.left == 0 {
				close(s.done)
			}
		}
	}
	return lost, nil
}

// injury hurts three of five events at their first attempt and some again at
// the second, the same ones in every run.
type injury struct {
	seen map[string]int // by idempotency key
	cuts [3]int         // by Cut
}

func (i *injury) choose(r outboxtest.Request) outboxtest.Fault {
	key := r.Header.Get("Idempotency-Key")
	i.seen[key]++
	kind := 4
	switch i.seen[key] {
	case 1:
		kind = int(key[0]) % 5
	case 2:
		kind = int(key[1]) % 5
	}
	fault := [...]outboxtest.Fault{
		{Cut: outboxtest.CutBefore}, {Cut: outboxtest.CutAfter}, outboxtest.Status(500), {}, {},
	}[kind]
	i.cuts[fault.Cut]++
	return fault
}

// TestEndToEnd_ConnectionDropsApplyEachEventOnce is the whole way over real
// sockets and files: insert, dispatch, sign, send, verify, apply.
func TestEndToEnd_ConnectionDropsApplyEachEventOnce(t *testing.T) {
	events := 2_000
	switch {
	case os.Getenv("OUTBOXGEN_SOAK") == "1":
		events = 10_000
	case testing.Short():
		events = 200
	}
	folder := t.TempDir()
	producer := openSQLite(t, filepath.Join(folder, "orders.db"))
	consumer := openLedger(t, filepath.Join(folder, "billing.db"))
	harm := &injury{seen: map[string]int{}}
	server := outboxtest.NewFaultyServer(t, consumer.receiver(t, consumer.store.Inbox(), inbox.Config{}), harm.choose)
	dest, err := webhook.New(webhook.Config{
		Name: "billing", URL: server.URL(), Source: source, Secrets: []string{secretText(1)},
		Retry: outbox.RetryPolicy{MaxAttempts: 20, Base: time.Millisecond, Cap: 10 * time.Millisecond},
		// The faults are the point here; the breaker has tests of its own.
		NoBreaker: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	watched := &settled{Store: producer, left: events, done: make(chan struct{})}
	dispatcher, err := outbox.NewDispatcher(watched, []outbox.Destination{dest}, outbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- dispatcher.Run(ctx) }()

	started := time.Now()
	def := &outbox.Definition{Source: source, Type: "order.created", Version: 1, Idempotency: byOrder,
		Routes: []outbox.Route{{Destination: "billing"}}}
	const batch = 100
	for first := 0; first < events; first += batch {
		drafts := make([]outbox.Draft, batch)
		for i := range drafts {
			drafts[i].Payload = fmt.Appendf(nil, `{"amount":"10","order_id":"o-%d"}`, first+i)
		}
		if err := producer.InTx(ctx, func(tx *sql.Tx) error {
			_, err := outbox.InsertEvents(ctx, producer, tx, def, drafts)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	patience, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	select {
	case <-watched.done:
	case err := <-ran:
		t.Fatalf("the dispatcher ended: %v", err)
	case <-patience.Done():
		t.Fatalf("not done in time: %d deliveries are left; stats %+v", watched.left, dispatcher.Stats())
	}
	took := time.Since(started)
	stop()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	consumer.want(t, events)

	if harm.cuts[outboxtest.CutBefore] < events/10 || harm.cuts[outboxtest.CutAfter] < events/10 {
		t.Errorf("only %d connections were cut before and %d after", harm.cuts[outboxtest.CutBefore], harm.cuts[outboxtest.CutAfter])
	}
	t.Logf("%d events in %v (%.0f/s): %d requests, %d cut before processing, %d after",
		events, took.Round(time.Millisecond), float64(events)/took.Seconds(), len(server.Requests()),
		harm.cuts[outboxtest.CutBefore], harm.cuts[outboxtest.CutAfter])
}
