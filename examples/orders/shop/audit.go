package shop

import (
	"context"
	"log/slog"

	"github.com/outboxgen/outboxgen/examples/orders/events"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// Audit is the destination audit: typed code in the shop's own process. Here
// it keeps its lines in the log.
type Audit struct{ Log *slog.Logger }

// OrderCreated is called at least once per accepted order.
func (a Audit) OrderCreated(ctx context.Context, e events.OrderCreated, d *outbox.Delivery) error {
	a.Log.InfoContext(ctx, "audit: order created", "logger", "audit",
		"order_id", e.OrderID, "event_id", d.ID, "idempotency_key", d.IdempotencyKey, "retry_count", d.RetryCount)
	return nil
}

// OrderCancelled is called at least once per cancelled order, after its
// OrderCreated.
func (a Audit) OrderCancelled(ctx context.Context, e events.OrderCancelled, d *outbox.Delivery) error {
	a.Log.InfoContext(ctx, "audit: order cancelled", "logger", "audit",
		"order_id", e.OrderID, "event_id", d.ID, "idempotency_key", d.IdempotencyKey, "retry_count", d.RetryCount)
	return nil
}
