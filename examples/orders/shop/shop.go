// Package shop is the order service. It takes orders over HTTP and writes each
// one and its event in a single transaction, so that neither is ever there
// without the other.
package shop

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/examples/orders/events"
	"github.com/outboxgen/outboxgen/examples/orders/orderdb"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
	"github.com/shopspring/decimal"
)

// maxBody is how many bytes of a request are read.
const maxBody = 1 << 20

// Shop takes and cancels orders.
type Shop struct {
	store  *sqlite.Store
	outbox *events.Outbox[*sql.Tx]
	log    *slog.Logger
}

// New prepares the shop's tables in the store's database.
func New(ctx context.Context, store *sqlite.Store, log *slog.Logger) (*Shop, error) {
	err := store.InTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, orderdb.Schema)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Shop{store, events.New(store), log.With("logger", "shop")}, nil
}

// Handler serves
//
//	POST /orders               an Order; answers 201 and an Accepted
//	POST /orders/{id}/cancel   a Cancellation; answers 202
//
// With ?simulate_failure=true an order fails between its two inserts.
func (s *Shop) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.postOrder)
	mux.HandleFunc("POST /orders/{id}/cancel", s.postCancel)
	return mux
}

// Order is the body of POST /orders.
type Order struct {
	CustomerEmail string                     `json:"customer_email"`
	Channel       events.OrderCreatedChannel `json:"channel"`
	Items         []Item                     `json:"items"`
	Note          *string                    `json:"note"`
}

// Item is one line of an Order.
type Item struct {
	SKU       string          `json:"sku"`
	Quantity  int64           `json:"quantity"`
	UnitPrice decimal.Decimal `json:"unit_price"`
}

// Accepted is the answer to an Order.
type Accepted struct {
	OrderID        uuid.UUID `json:"order_id"`
	EventID        uuid.UUID `json:"event_id"`
	IdempotencyKey string    `json:"idempotency_key"`
}

// Cancellation is the body of POST /orders/{id}/cancel.
type Cancellation struct {
	Reason string `json:"reason"`
}

func (s *Shop) postOrder(w http.ResponseWriter, r *http.Request) {
	var order Order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&order); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	event := order.event(uuid.New(), time.Now())
	if err := event.Validate(); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	var between func() error
	if r.URL.Query().Get("simulate_failure") == "true" {
		between = func() error { return errSimulated }
	}
	receipt, err := s.place(r.Context(), event, between)
	if err != nil {
		s.fail(w, r, "order not placed", event.OrderID, err)
		return
	}
	s.log.InfoContext(r.Context(), "order placed",
		"order_id", event.OrderID, "event_id", receipt.ID, "idempotency_key", receipt.IdempotencyKey)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	json.NewEncoder(w).Encode(Accepted{event.OrderID, receipt.ID, receipt.IdempotencyKey})
}

var errSimulated = errors.New("simulated failure between the order and its event")

// event is the order as others are told of it.
func (o Order) event(id uuid.UUID, placedAt time.Time) events.OrderCreated {
	e := events.OrderCreated{
		OrderID:       id,
		CustomerEmail: o.CustomerEmail,
		PlacedAt:      placedAt,
		Channel:       o.Channel,
		Note:          o.Note,
	}
	for _, item := range o.Items {
		e.Items = append(e.Items, events.LineItem{Sku: item.SKU, Quantity: item.Quantity, UnitPrice: item.UnitPrice})
		e.Amount = e.Amount.Add(item.UnitPrice.Mul(decimal.NewFromInt(item.Quantity)))
	}
	return e
}

// place writes the order and its event. between, if any, is called between
// the two.
func (s *Shop) place(ctx context.Context, e events.OrderCreated, between func() error) (receipt outbox.Receipt, err error) {
	err = s.store.InTx(ctx, func(tx *sql.Tx) error {
		err := orderdb.New(tx).CreateOrder(ctx, orderdb.CreateOrderParams{
			ID:            e.OrderID.String(),
			CustomerEmail: e.CustomerEmail,
			Amount:        e.Amount.String(),
			Channel:       string(e.Channel),
			PlacedAt:      e.PlacedAt.UTC().Format(time.RFC3339Nano),
		})
		if err != nil {
			return err
		}
		if between != nil {
			if err := between(); err != nil {
				return err
			}
		}
		receipt, err = s.outbox.InsertOrderCreated(ctx, tx, e)
		return err
	})
	return receipt, err
}

func (s *Shop) postCancel(w http.ResponseWriter, r *http.Request) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		http.Error(w, "the order's id is no UUID", http.StatusBadRequest)
		return
	}
	var c Cancellation
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	event := events.OrderCancelled{OrderID: id, Reason: c.Reason, CancelledAt: time.Now()}
	if err := event.Validate(); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	receipt, err := s.cancel(r.Context(), event)
	switch {
	case errors.Is(err, errNotOpen):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		s.fail(w, r, "order not cancelled", id, err)
	default:
		s.log.InfoContext(r.Context(), "order cancelled",
			"order_id", id, "event_id", receipt.ID, "idempotency_key", receipt.IdempotencyKey)
		w.WriteHeader(http.StatusAccepted)
	}
}

var errNotOpen = errors.New("there is no such order, or it is cancelled already")

func (s *Shop) cancel(ctx context.Context, e events.OrderCancelled) (receipt outbox.Receipt, err error) {
	err = s.store.InTx(ctx, func(tx *sql.Tx) error {
		cancelled, err := orderdb.New(tx).CancelOrder(ctx, orderdb.CancelOrderParams{
			CancelledAt: sql.NullString{String: e.CancelledAt.UTC().Format(time.RFC3339Nano), Valid: true},
			ID:          e.OrderID.String(),
		})
		if err != nil {
			return err
		}
		if cancelled == 0 {
			return errNotOpen
		}
		receipt, err = s.outbox.InsertOrderCancelled(ctx, tx, e)
		return err
	})
	return receipt, err
}

func (s *Shop) fail(w http.ResponseWriter, r *http.Request, message string, id uuid.UUID, err error) {
	s.log.ErrorContext(r.Context(), message, "order_id", id, "error", err)
	http.Error(w, message, http.StatusInternalServerError)
}
