package outbox

import (
	"context"
	"log/slog"
	"time"
)

// logDelivery is the logger with what identifies a delivery.
func (d *Dispatcher) logDelivery(del *Delivery) *slog.Logger {
	return d.log.With(
		"destination", del.Destination,
		"event_id", del.ID,
		"event_type", del.Type,
		"idempotency_key", del.IdempotencyKey,
		"retry_count", del.RetryCount,
	)
}

// logSettled tells of a recorded outcome.
func (d *Dispatcher) logSettled(ctx context.Context, e *entry) {
	level, message := slog.LevelDebug, "delivered"
	switch {
	case e.Verdict == Quarantine:
		level, message = slog.LevelError, "dead letter"
	case e.Verdict == Retry && e.Spent:
		level, message = slog.LevelWarn, "attempt failed: will be retried"
	case e.faults > 0:
		level, message = slog.LevelError, "destination paused: this process is at fault, not the destination; no attempt was spent"
	case e.Verdict == Retry:
		level, message = slog.LevelWarn, "attempt refused: none spent"
	case e.Verdict == GiveBack:
		message = "given back"
	}
	if !d.log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 12)
	retries := e.delivery.RetryCount
	if e.Spent {
		retries++
	}
	attrs = append(attrs,
		slog.String("destination", e.delivery.Destination),
		slog.String("event_id", e.delivery.ID.String()),
		slog.String("event_type", e.delivery.Type),
		slog.String("idempotency_key", e.delivery.IdempotencyKey),
		slog.Int("retry_count", retries),
	)
	if e.Verdict == Retry || e.Delay > 0 {
		attrs = append(attrs, slog.Float64("backoff_seconds", e.Delay.Seconds()))
	}
	if f := e.Failure; f != nil {
		if f.StatusCode != 0 {
			attrs = append(attrs, slog.Int("status_code", f.StatusCode))
		}
		attrs = append(attrs, slog.String("cause", f.Cause), slog.String("error", f.Message), slog.Float64("duration_seconds", f.Duration.Seconds()))
	}
	if e.faults > 0 {
		attrs = append(attrs, slog.Int("faults", e.faults))
	}
	if e.Verdict == Quarantine {
		attrs = append(attrs, slog.String("failure_kind", string(e.Kind)))
		if id := d.deadLetterID(ctx, e.delivery); id != 0 {
			attrs = append(attrs, slog.Int64("dlq_id", id))
		}
	}
	d.log.LogAttrs(ctx, level, message, attrs...)
}

// deadLetterID looks up the row that a quarantine made, if the store can; 0
// when it cannot, or the row is gone already.
func (d *Dispatcher) deadLetterID(ctx context.Context, del *Delivery) int64 {
	admin, ok := d.store.(Admin)
	if !ok {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	found, err := admin.DeadLetters(ctx, DeadLetterFilter{EventID: del.ID.String(), Destination: del.Destination, Limit: 1})
	if err != nil || len(found) == 0 {
		return 0
	}
	return found[0].ID
}

// logQuarantined tells of a dead letter that a claim made.
func (d *Dispatcher) logQuarantined(dead DeadLetterInfo) {
	d.log.Error("dead letter", "destination", dead.Destination, "event_id", dead.EventID, "event_type", dead.EventType,
		"idempotency_key", dead.IdempotencyKey, "retry_count", dead.RetryCount,
		"failure_kind", string(dead.Kind), "error", dead.Reason, "dlq_id", dead.ID)
}

// logLost tells of an outcome that came too late.
func (d *Dispatcher) logLost(e *entry) {
	d.logDelivery(e.delivery).Warn("lease lost: the outcome changed nothing, another worker has the delivery",
		"attempted", e.Attempted, "delivered", e.Verdict == Deliver)
}

// logChange tells of a pause or disablement that a destination asked for, or
// of the pause of an open breaker.
func (d *Dispatcher) logChange(c DestinationChange) {
	if c.Action == Disable {
		d.log.Error("destination disabled until it is enabled", "destination", c.Destination, "reason", c.Reason)
		return
	}
	d.log.Warn("destination paused", "destination", c.Destination, "backoff_seconds", c.For.Seconds(), "reason", c.Reason)
}
