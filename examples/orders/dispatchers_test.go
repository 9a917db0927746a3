package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/examples/orders/events"
	"github.com/outboxgen/outboxgen/examples/orders/shop"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
	"github.com/outboxgen/outboxgen/runtime/webhook"
	"github.com/shopspring/decimal"
)

// When the test binary is started with dispatcherEnv set it is no test but a
// process with a dispatcher on that database file.
const (
	dispatcherEnv = "ORDERS_TEST_DATABASE"
	processEnv    = "ORDERS_TEST_PROCESS"
	ready         = "ready"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(dispatcherEnv); path != "" {
		if err := dispatchUntilStdinEnds(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func dispatchUntilStdinEnds(path string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	dispatcher, err := events.NewDispatcher(store, shop.Audit{Log: slog.New(slog.DiscardHandler)},
		events.WithBilling(webhook.Config{Headers: map[string]string{"X-Process": os.Getenv(processEnv)}}))
	if err != nil {
		return err
	}
	go func() {
		defer cancel()
		fmt.Println(ready)
		io.Copy(io.Discard, os.Stdin)
	}()
	return dispatcher.Run(ctx)
}

// receiver counts how often each event arrives and from which process. It
// answers nobody before both processes have called: so both take part.
type receiver struct {
	mu        sync.Mutex
	hits      map[string]int
	processes map[string]int
	both      chan struct{} // closed when two processes have called
	all       chan struct{} // closed when want different events are there
	want      int
}

func (r *receiver) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	r.count(req.Header.Get("X-Process"), req.Header.Get("X-Event-Id"))
	select {
	case <-r.both:
	case <-req.Context().Done():
	}
}

func (r *receiver) count(process, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.processes[process]++
	if r.processes[process] == 1 && len(r.processes) == 2 {
		close(r.both)
	}
	r.hits[id]++
	if r.hits[id] == 1 && len(r.hits) == r.want {
		close(r.all)
	}
}

// TestTwoProcesses_DeliverEachEventOnce: two dispatcher processes on one
// database file, while a third process writes to it.
func TestTwoProcesses_DeliverEachEventOnce(t *testing.T) {
	const count = 2000
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r := &receiver{hits: make(map[string]int), processes: make(map[string]int), both: make(chan struct{}), all: make(chan struct{}), want: count}
	server := httptest.NewServer(r)
	defer server.Close()
	path := filepath.Join(t.TempDir(), "shop.db")
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	ids := insertOrders(t, ctx, store, count/2)
	stops := []func() error{
		startDispatcher(t, ctx, path, server.URL, "one"),
		startDispatcher(t, ctx, path, server.URL, "two"),
	}
	ids = append(ids, insertOrders(t, ctx, store, count/2)...)
	select {
	case <-r.all:
	case <-ctx.Done():
		r.mu.Lock()
		t.Fatalf("only %d of %d events arrived", len(r.hits), count)
	}
	for _, stop := range stops {
		if err := stop(); err != nil {
			t.Errorf("a dispatcher's process failed: %v", err)
		}
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if n := r.hits[id]; n != 1 {
			t.Errorf("event %s arrived %d times", id, n)
		}
	}
	var published int
	err = store.Readers().QueryRowContext(ctx,
		`SELECT count(*) FROM outbox_delivery WHERE destination = 'billing' AND status = ?`, string(outbox.Published)).Scan(&published)
	if err != nil {
		t.Fatal(err)
	}
	if published != count {
		t.Errorf("%d deliveries are PUBLISHED, want %d", published, count)
	}
	t.Logf("deliveries by process: %v", r.processes)
}

// startDispatcher starts a process and waits until it dispatches. stop lets it
// finish what is under way and waits for its end.
func startDispatcher(t *testing.T, ctx context.Context, path, url, name string) (stop func() error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), dispatcherEnv+"="+path, processEnv+"="+name, "BILLING_URL="+url,
		"BILLING_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if lines := bufio.NewScanner(stdout); !lines.Scan() || lines.Text() != ready {
		t.Fatalf("the dispatcher's process ended: %v", cmd.Wait())
	}
	return func() error {
		stdin.Close()
		return cmd.Wait()
	}
}

func insertOrders(t *testing.T, ctx context.Context, store *sqlite.Store, count int) (ids []string) {
	t.Helper()
	out := events.New(store)
	for range count {
		err := store.InTx(ctx, func(tx *sql.Tx) error {
			receipt, err := out.InsertOrderCreated(ctx, tx, events.OrderCreated{
				OrderID:       uuid.New(),
				CustomerEmail: "ada@example.org",
				Amount:        decimal.RequireFromString("9.90"),
				PlacedAt:      time.Now(),
				Items:         []events.LineItem{{Sku: "tea", Quantity: 1, UnitPrice: decimal.RequireFromString("9.90")}},
				Channel:       events.OrderCreatedChannelWeb,
			})
			ids = append(ids, receipt.ID.String())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return ids
}
