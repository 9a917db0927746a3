package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/examples/orders/events"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// The six checks that the outbox pattern is usually taught with, by what the
// running system does.

func startWorld(t *testing.T) *world {
	t.Helper()
	w, err := start(t.Context(), t.TempDir(), io.Discard, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.stop)
	return w
}

// order places an order and returns its event's id.
func order(t *testing.T, w *world) string {
	t.Helper()
	status, accepted, err := w.postOrder(t.Context(), "")
	if err != nil || status != http.StatusCreated {
		t.Fatalf("POST /orders: %d, %v", status, err)
	}
	return accepted.EventID.String()
}

func wantCounts(t *testing.T, w *world, wantOrders, wantEvents int64) {
	t.Helper()
	orders, rows, err := w.counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if orders != wantOrders || rows != wantEvents {
		t.Fatalf("%d orders and %d events, want %d and %d", orders, rows, wantOrders, wantEvents)
	}
}

func TestArticle_CommitLeavesBothRowsInWAL(t *testing.T) {
	w := startWorld(t)
	order(t, w)
	wantCounts(t, w, 1, 1)
	var mode string
	if err := w.store.Readers().QueryRowContext(t.Context(), `PRAGMA journal_mode`).Scan(&mode); err != nil {
		t.Fatal(err)
	}
	if mode != "wal" {
		t.Errorf("journal_mode is %s, want wal", mode)
	}
}

func TestArticle_RollbackLeavesNeitherRow(t *testing.T) {
	w := startWorld(t)
	status, _, err := w.postOrder(t.Context(), "?simulate_failure=true")
	if err != nil {
		t.Fatal(err)
	}
	if status != http.StatusInternalServerError {
		t.Errorf("the shop answers %d, want 500", status)
	}
	wantCounts(t, w, 0, 0)
}

func TestArticle_DigestIgnoresOrderAndWhitespace(t *testing.T) {
	digest := func(text string) [32]byte {
		t.Helper()
		var e events.OrderCreated
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		canonical, err := e.AppendCanonical(nil)
		if err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(canonical)
	}
	one := digest(`{"order_id":"0190a5b4-0000-7000-8000-000000000001","customer_email":"ada@example.org","amount":"9.90","placed_at":"2026-01-31T10:00:00Z","items":[{"sku":"tea","quantity":1,"unit_price":"9.90"}],"channel":"web"}`)
	other := digest(`{
		"channel": "web",
		"items": [ {"unit_price": "9.90", "sku": "tea", "quantity": 1} ],
		"placed_at": "2026-01-31T10:00:00Z", "amount": "9.90",
		"customer_email": "ada@example.org",
		"order_id": "0190a5b4-0000-7000-8000-000000000001"
	}`)
	if one != other {
		t.Errorf("digests differ: %x and %x", one, other)
	}
}

func TestArticle_PendingBecomesPublishedOn200(t *testing.T) {
	w := startWorld(t)
	id := order(t, w)
	wantState(t, w, id, outbox.Pending, 0)
	if err := w.dispatch(t.Context(), w.billingURL, id, outbox.Published); err != nil {
		t.Fatal(err)
	}
	wantState(t, w, id, outbox.Published, 0)
	if got := len(w.deliveriesOf(id)); got != 1 {
		t.Errorf("%d deliveries arrived, want 1", got)
	}
}

func wantState(t *testing.T, w *world, id string, want outbox.Status, wantRetries int) {
	t.Helper()
	status, retries, err := w.state(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if status != want || retries != wantRetries {
		t.Fatalf("event %s is %s with %d retries, want %s with %d", id, status, retries, want, wantRetries)
	}
}

func TestArticle_ThreeFailuresMakeADeadLetter(t *testing.T) {
	w := startWorld(t)
	id := order(t, w)
	if err := w.dispatch(t.Context(), w.billingURL+"?simulate_failure=true", id, outbox.DeadLetter); err != nil {
		t.Fatal(err)
	}
	wantState(t, w, id, outbox.DeadLetter, 3)
	if got := len(w.deliveriesOf(id)); got != 3 {
		t.Errorf("%d deliveries arrived, want 3", got)
	}
	letters, err := w.store.DeadLetters(t.Context(), outbox.DeadLetterFilter{EventID: id})
	if err != nil {
		t.Fatal(err)
	}
	if len(letters) != 1 || letters[0].Kind != outbox.FailureExhausted || !strings.Contains(letters[0].Reason, "500") {
		t.Errorf("dead letters: %+v, want one, exhausted, that names the status", letters)
	}
}

func TestArticle_DuplicateHasOneSideEffect(t *testing.T) {
	w := startWorld(t)
	id := order(t, w)
	if err := w.dispatch(t.Context(), w.billingURL, id, outbox.Published); err != nil {
		t.Fatal(err)
	}
	status, err := w.sendAgain(t.Context(), w.deliveriesOf(id)[0])
	if err != nil {
		t.Fatal(err)
	}
	invoices, err := w.billing.Invoices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status != http.StatusOK || invoices != 1 {
		t.Errorf("the second delivery answers %d and there are %d invoices, want 200 and 1", status, invoices)
	}
}

// TestBilling_RefusesWhatTheShopDidNotSign: the example signs, and its
// consumer verifies.
func TestBilling_RefusesWhatTheShopDidNotSign(t *testing.T) {
	w := startWorld(t)
	id := order(t, w)
	if err := w.dispatch(t.Context(), w.billingURL, id, outbox.Published); err != nil {
		t.Fatal(err)
	}
	forged := w.deliveriesOf(id)[0]
	forged.body = bytes.Replace(forged.body, []byte("ada@"), []byte("eve@"), 1)
	status, err := w.sendAgain(t.Context(), forged)
	if err != nil {
		t.Fatal(err)
	}
	if status != http.StatusUnauthorized {
		t.Errorf("a changed body is answered %d, want 401", status)
	}
}

// logFields are the names that the example's log lines may have beside those
// of errors and addresses.
var logFields = []string{
	"timestamp", "level", "logger", "message", "order_id", "event_id", "idempotency_key", "retry_count",
	"backoff_seconds", "status_code", "dlq_id", "side_effects_count", "delivery_hits",
}

func TestRun_GoesThroughItsFourCyclesAndLogsJSON(t *testing.T) {
	var out, log bytes.Buffer
	err := Run(t.Context(), t.TempDir(), &out, slog.New(outbox.NewJSONLog(&log, slog.LevelInfo)))
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !strings.HasSuffix(out.String(), "all four cycles went as promised\n") {
		t.Errorf("the output is\n%s", &out)
	}
	seen := make(map[string]bool)
	for line := range strings.Lines(log.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("a log line is no JSON object: %v\n%s", err, line)
		}
		for name := range fields {
			seen[name] = true
		}
	}
	for _, name := range logFields {
		if !seen[name] {
			t.Errorf("no log line has the field %s", name)
		}
	}
}

func TestRun_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, t.TempDir(), io.Discard, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a demonstration whose context has ended says that all went well")
	}
}
