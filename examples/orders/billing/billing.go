// Package billing is the other side: a service with a database of its own
// that hears of orders by webhook and writes an invoice for each, once,
// however often it is told.
package billing

import (
	"context"
	"database/sql"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/outboxgen/outboxgen/examples/orders/billingdb"
	"github.com/outboxgen/outboxgen/examples/orders/events"
	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

// Billing receives the events of the order service.
type Billing struct {
	store    *sqlite.Store
	receiver http.Handler
	log      *slog.Logger
	hits     atomic.Int64
}

// New prepares billing's tables in the store's database. secret is the one
// that the order service signs with.
func New(ctx context.Context, store *sqlite.Store, secret string, log *slog.Logger) (*Billing, error) {
	err := store.InTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, billingdb.Schema)
		return err
	})
	if err != nil {
		return nil, err
	}
	b := &Billing{store: store, log: log.With("logger", "billing")}
	b.receiver, err = events.NewBillingReceiver(store.Inbox(), ledger{}, inbox.Config{Secrets: []string{secret}, Logger: b.log})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// ledger writes what the events mean for billing. Its methods run in the
// transaction that marks the event as applied.
type ledger struct{}

func (ledger) OrderCreated(ctx context.Context, tx *sql.Tx, e events.OrderCreated, m inbox.Message) error {
	return billingdb.New(tx).CreateInvoice(ctx, billingdb.CreateInvoiceParams{
		OrderID: e.OrderID.String(),
		Email:   e.CustomerEmail,
		Amount:  e.Amount.String(),
	})
}

func (ledger) OrderCancelled(ctx context.Context, tx *sql.Tx, e events.OrderCancelled, m inbox.Message) error {
	return billingdb.New(tx).VoidInvoice(ctx, e.OrderID.String())
}

// ServeHTTP is the webhook. With ?simulate_failure=true it answers 500 to
// everything, as a service that is down for its own reasons.
func (b *Billing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hits := b.hits.Add(1)
	answer := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
	if r.URL.Query().Get("simulate_failure") == "true" {
		http.Error(answer, "simulated failure", http.StatusInternalServerError)
	} else {
		b.receiver.ServeHTTP(answer, r)
	}
	invoices, err := b.Invoices(r.Context())
	if err != nil {
		b.log.ErrorContext(r.Context(), "invoices not counted", "error", err)
		return
	}
	b.log.InfoContext(r.Context(), "delivery answered",
		"event_id", r.Header.Get("X-Event-Id"), "idempotency_key", r.Header.Get("Idempotency-Key"),
		"status_code", answer.status, "delivery_hits", hits, "side_effects_count", invoices)
}

// Hits is how many deliveries have arrived, whatever became of them.
func (b *Billing) Hits() int64 { return b.hits.Load() }

// Invoices is how many orders were billed: the side effects.
func (b *Billing) Invoices(ctx context.Context) (int64, error) {
	return billingdb.New(b.store.Readers()).CountInvoices(ctx)
}

// statusRecorder remembers the status of an answer for the log.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
