package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/outboxgen/outboxgen/examples/orders/billing"
	"github.com/outboxgen/outboxgen/examples/orders/events"
	"github.com/outboxgen/outboxgen/examples/orders/orderdb"
	"github.com/outboxgen/outboxgen/examples/orders/shop"
	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
	"github.com/outboxgen/outboxgen/runtime/webhook"
)

// world is the order service, billing and what the demonstration remembers.
type world struct {
	out io.Writer
	log *slog.Logger

	store      *sqlite.Store // the shop's
	shopURL    string
	billing    *billing.Billing
	billingURL string
	secret     string

	mu         sync.Mutex
	deliveries []delivery // as billing got them

	closers []func() error // in the order of starting
}

// delivery is a request to billing, kept to be sent again.
type delivery struct {
	header http.Header
	body   []byte
}

func start(ctx context.Context, dir string, out io.Writer, log *slog.Logger) (_ *world, err error) {
	w := &world{out: out, log: log}
	defer func() {
		if err != nil {
			w.stop()
		}
	}()
	if w.secret, err = newSecret(); err != nil {
		return nil, err
	}
	open := func(name string) (*sqlite.Store, error) {
		store, err := sqlite.Open(ctx, filepath.Join(dir, name), sqlite.Options{Logger: log})
		if err == nil {
			w.closers = append(w.closers, store.Close)
		}
		return store, err
	}

	billingStore, err := open("billing.db")
	if err != nil {
		return nil, err
	}
	if w.billing, err = billing.New(ctx, billingStore, w.secret, log); err != nil {
		return nil, err
	}
	if w.billingURL, err = w.serve(w.remember(w.billing)); err != nil {
		return nil, err
	}

	if w.store, err = open("shop.db"); err != nil {
		return nil, err
	}
	s, err := shop.New(ctx, w.store, log)
	if err != nil {
		return nil, err
	}
	w.shopURL, err = w.serve(s.Handler())
	return w, err
}

func (w *world) stop() {
	for _, close := range slices.Backward(w.closers) {
		if err := close(); err != nil {
			w.log.Error("not closed", "logger", "demo", "error", err)
		}
	}
}

// serve starts an HTTP server on a free loopback port.
func (w *world) serve(h http.Handler) (url string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener)
	w.closers = append(w.closers, server.Close)
	return "http://" + listener.Addr().String(), nil
}

// remember keeps what arrives before it hands it on.
func (w *world) remember(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		w.mu.Lock()
		w.deliveries = append(w.deliveries, delivery{r.Header.Clone(), body})
		w.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(rw, r)
	})
}

// deliveriesOf are the deliveries of one event that have arrived so far.
func (w *world) deliveriesOf(eventID string) []delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	var of []delivery
	for _, d := range w.deliveries {
		if d.header.Get("X-Event-Id") == eventID {
			of = append(of, d)
		}
	}
	return of
}

// postOrder orders something and returns the shop's answer.
func (w *world) postOrder(ctx context.Context, query string) (status int, accepted shop.Accepted, err error) {
	const order = `{"customer_email":"ada@example.org","channel":"web","items":[{"sku":"tea-200","quantity":2,"unit_price":"9.90"}]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.shopURL+"/orders"+query, strings.NewReader(order))
	if err != nil {
		return 0, accepted, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, accepted, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusCreated {
		err = json.NewDecoder(resp.Body).Decode(&accepted)
	}
	return resp.StatusCode, accepted, err
}

// counts are the rows of the shop: orders and events.
func (w *world) counts(ctx context.Context) (orders, outboxRows int64, err error) {
	orders, err = orderdb.New(w.store.Readers()).CountOrders(ctx)
	if err != nil {
		return 0, 0, err
	}
	err = w.store.Readers().QueryRowContext(ctx, `SELECT count(*) FROM outbox`).Scan(&outboxRows)
	return orders, outboxRows, err
}

// state is how an event's delivery to billing stands in the database.
func (w *world) state(ctx context.Context, eventID string) (status outbox.Status, retries int, err error) {
	const query = `SELECT d.status, d.retry_count FROM outbox_delivery d JOIN outbox o ON o.seq = d.seq
		WHERE o.id = ? AND d.destination = 'billing'`
	err = w.store.Readers().QueryRowContext(ctx, query, eventID).Scan(&status, &retries)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("event %s has no delivery to billing", eventID)
	}
	return status, retries, err
}

// dispatch runs a dispatcher that sends to billing at url until the event's
// delivery has come to the wanted state.
func (w *world) dispatch(ctx context.Context, url string, eventID string, want outbox.Status) error {
	dispatcher, err := events.NewDispatcher(w.store, shop.Audit{Log: w.log},
		events.WithConfig(outbox.Config{Logger: w.log.With("logger", "dispatcher")}),
		events.WithBilling(webhook.Config{
			URL:     url,
			Secrets: []string{w.secret},
			Retry:   outbox.RetryPolicy{MaxAttempts: attempts, Base: 50 * time.Millisecond, Cap: 200 * time.Millisecond},
			// Three failures open the breaker, and the next dispatcher on this
			// database waits until billing may be tried again.
			Breaker: breaker.Config{RecoveryTime: 200 * time.Millisecond},
		}))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- dispatcher.Run(running) }()
	err = w.await(ctx, eventID, want)
	stop()
	return errors.Join(err, <-stopped)
}

// attempts is how often the demonstration's dispatcher tries.
const attempts = 3

// patience is how long the demonstration waits for anything.
const patience = 30 * time.Second

func (w *world) await(ctx context.Context, eventID string, want outbox.Status) error {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		status, _, err := w.state(ctx, eventID)
		if err != nil || status == want {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("event %s is still %s, not %s: %w", eventID, status, want, ctx.Err())
		}
	}
}

// newSecret makes a webhook secret as an operator would: 32 random bytes.
func newSecret() (string, error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return "whsec_" + base64.StdEncoding.EncodeToString(b[:]), nil
}
