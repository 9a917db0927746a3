package demo

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// atomic: a commit leaves both rows, a failure between the inserts neither.
func (w *world) atomic(ctx context.Context) error {
	status, accepted, err := w.postOrder(ctx, "")
	if err != nil {
		return err
	}
	if err := w.check(status == http.StatusCreated, "POST /orders answers %d: order %s, event %s", status, accepted.OrderID, accepted.EventID); err != nil {
		return err
	}
	orders, rows, err := w.counts(ctx)
	if err != nil {
		return err
	}
	if err := w.check(orders == 1 && rows == 1, "rows: %d order, %d event", orders, rows); err != nil {
		return err
	}
	status, _, err = w.postOrder(ctx, "?simulate_failure=true")
	if err != nil {
		return err
	}
	if err := w.check(status == http.StatusInternalServerError, "a failure between the two inserts answers %d", status); err != nil {
		return err
	}
	orders, rows, err = w.counts(ctx)
	if err != nil {
		return err
	}
	return w.check(orders == 1 && rows == 1, "and leaves neither row: still %d order, %d event", orders, rows)
}

// deliver: a new order waits, and is published once a dispatcher runs.
func (w *world) deliver(ctx context.Context) error {
	_, accepted, err := w.postOrder(ctx, "")
	if err != nil {
		return err
	}
	id := accepted.EventID.String()
	status, _, err := w.state(ctx, id)
	if err != nil {
		return err
	}
	if err := w.check(status == outbox.Pending, "event %s is %s", id, status); err != nil {
		return err
	}
	if err := w.dispatch(ctx, w.billingURL, id, outbox.Published); err != nil {
		return err
	}
	if err := w.check(true, "with a dispatcher running it is %s", outbox.Published); err != nil {
		return err
	}
	arrived := w.deliveriesOf(id)
	if err := w.check(len(arrived) == 1 && arrived[0].header.Get("Idempotency-Key") == accepted.IdempotencyKey,
		"billing got it %d time, under the key %s", len(arrived), accepted.IdempotencyKey); err != nil {
		return err
	}
	invoices, err := w.billing.Invoices(ctx)
	if err != nil {
		return err
	}
	return w.check(invoices == 2, "billing has %d invoices: this order's and the first cycle's", invoices)
}

// deadLetter: an order whose deliveries fail is set aside after its attempts,
// and a replay delivers the same bytes under the same key.
func (w *world) deadLetter(ctx context.Context) error {
	_, accepted, err := w.postOrder(ctx, "")
	if err != nil {
		return err
	}
	id := accepted.EventID.String()
	if err := w.dispatch(ctx, w.billingURL+"?simulate_failure=true", id, outbox.DeadLetter); err != nil {
		return err
	}
	_, retries, err := w.state(ctx, id)
	if err != nil {
		return err
	}
	if err := w.check(retries == attempts && len(w.deliveriesOf(id)) == attempts,
		"event %s is %s after %d attempts with backoff, each answered 500", id, outbox.DeadLetter, retries); err != nil {
		return err
	}
	letters, err := w.store.DeadLetters(ctx, outbox.DeadLetterFilter{EventID: id})
	if err != nil {
		return err
	}
	if err := w.check(len(letters) == 1, "dead_letter_queue has %d row for it", len(letters)); err != nil {
		return err
	}
	letter := letters[0]
	if err := w.check(letter.Kind == outbox.FailureExhausted && letter.RetryCount == attempts,
		"dead letter %d: %s after %d attempts: %s", letter.ID, letter.Kind, letter.RetryCount, strings.TrimSpace(letter.Reason)); err != nil {
		return err
	}

	replayed, err := w.store.Replay(ctx, outbox.DeadLetterFilter{IDs: []int64{letter.ID}}, outbox.Apply)
	if err != nil {
		return err
	}
	status, retries, err := w.state(ctx, id)
	if err != nil {
		return err
	}
	if err := w.check(len(replayed) == 1 && status == outbox.Pending && retries == 0,
		"replayed: it is %s again with %d attempts spent", status, retries); err != nil {
		return err
	}
	w.log.InfoContext(ctx, "dead letter replayed", "logger", "demo", "order_id", accepted.OrderID,
		"event_id", id, "idempotency_key", accepted.IdempotencyKey, "dlq_id", letter.ID)
	if err := w.dispatch(ctx, w.billingURL, id, outbox.Published); err != nil {
		return err
	}
	arrived := w.deliveriesOf(id)
	same := true
	for _, d := range arrived {
		same = same && bytes.Equal(d.body, arrived[0].body) && d.header.Get("Idempotency-Key") == accepted.IdempotencyKey
	}
	return w.check(same && len(arrived) == attempts+1, "and %s: %d deliveries in all, the same key and the same bytes each time", outbox.Published, len(arrived))
}

// duplicate: a delivery that arrives again is answered and not applied.
func (w *world) duplicate(ctx context.Context) error {
	_, accepted, err := w.postOrder(ctx, "")
	if err != nil {
		return err
	}
	id := accepted.EventID.String()
	if err := w.dispatch(ctx, w.billingURL, id, outbox.Published); err != nil {
		return err
	}
	before, err := w.billing.Invoices(ctx)
	if err != nil {
		return err
	}
	arrived := w.deliveriesOf(id)
	if len(arrived) == 0 {
		return errors.New("the delivery was not seen")
	}
	status, err := w.sendAgain(ctx, arrived[0])
	if err != nil {
		return err
	}
	if err := w.check(status == http.StatusOK, "event %s sent once more, byte for byte: billing answers %d", id, status); err != nil {
		return err
	}
	after, err := w.billing.Invoices(ctx)
	if err != nil {
		return err
	}
	return w.check(after == before, "deliveries: %d, invoices: %d before and %d after", len(w.deliveriesOf(id)), before, after)
}

func (w *world) sendAgain(ctx context.Context, d delivery) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.billingURL, bytes.NewReader(d.body))
	if err != nil {
		return 0, err
	}
	req.Header = d.header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}
