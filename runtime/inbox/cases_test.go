package inbox_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/inbox"
)

// The cases are faults that people met in software of this kind; the number
// is that of the collection this project keeps.

// W-01: names above U+FFFF sort by UTF-16 units, not by bytes, also in the
// key that a receiver computes again.
func TestCaseW01_KeyOfFieldsAboveTheBasicPlane(t *testing.T) {
	c := newConsumer(t, nil)
	receiver, err := inbox.NewReceiver(c.store, []inbox.EventType[*inbox.MemoryTx]{{
		Type: "sign.seen", Version: 1,
		Idempotency: canonical.Policy{Mode: canonical.ByFields, Fields: []string{"\ufb33", "\U0001f600"}},
		Apply:       func(context.Context, *inbox.MemoryTx, []byte, inbox.Message) error { return nil },
	}}, inbox.Config{Consumer: "signs", Sources: []string{source}, Secrets: []string{secretText(1)}, Now: c.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	c.Receiver = receiver
	fields := "{\"\U0001f600\":1,\"\ufb33\":2}"
	digest := sha256.Sum256([]byte(`{"fields":` + fields + `,"source":"` + source + `","type":"sign.seen"}`))
	key := hex.EncodeToString(digest[:])
	d := delivery{"sign.seen", 1, firstID, fields, byEvent}
	req := c.signed(t, d)
	sign(t, req, key, c.clock.Now(), []byte(d.body), c.secret)
	req.Header.Set("Idempotency-Key", key)
	c.serve(t, req).want(t, 200, "applied")
}

// W-02: integers that one double stands for are different events still, and
// the handler gets all their digits.
func TestCaseW02_IntegersBeyondADouble(t *testing.T) {
	c := newConsumer(t, nil)
	for _, text := range []string{`{"n":9007199254740992,"order_id":"o-1"}`, `{"n":9007199254740993,"order_id":"o-1"}`} {
		c.deliver(t, delivery{"order.created", 2, firstID, text, byPayload}).want(t, 200, "applied")
	}
	c.wantEffects(t, 2)
	if got := c.effects[1]; !strings.Contains(got, "9007199254740993") {
		t.Errorf("the handler got %s", got)
	}
}

// W-05: the receiver verifies and hands on the very bytes that were sent.
func TestCaseW05_BytesAreTakenAsTheyCame(t *testing.T) {
	text := "{\"note\":\"<b>&\u2028\\u001b\U0001f600\\/\",\"order_id\":\"o-1\",\"x\":[1.0,1e21]}"
	for _, d := range []delivery{
		{"order.created", 1, firstID, text, byOrder},
		{"order.created", 2, firstID, text, byPayload},
		{"order.noted", 1, firstID, text, byEvent},
	} {
		c := newConsumer(t, nil)
		c.deliver(t, d).want(t, 200, "applied")
		if got := c.effects[0]; got != text {
			t.Errorf("the handler got %q, want %q", got, text)
		}
	}
}

// W-09: a key that is not one never becomes an inbox row.
func TestCaseW09_KeysThatAreNone(t *testing.T) {
	for _, key := range []string{"a\r\nX: 1", strings.Repeat("a", 10_000), " ", strings.Repeat("A", 64), strings.Repeat("0", 63), "../../etc"} {
		c := newConsumer(t, func(cfg *inbox.Config) { cfg.Secrets, cfg.AllowUnsigned = nil, true })
		req := orderCreated("o-1").request(t, "/", c.clock.Now())
		both("webhook-id", "Idempotency-Key", key)(req)
		c.serve(t, req).want(t, 401, "bad-headers")
		c.wantEffects(t, 0)
	}
}

// W-10, first step: the mark goes with the effect.
func TestCaseW10_HandlerFailsAfterItsFirstWrite(t *testing.T) {
	c := newConsumer(t, nil)
	d := orderCreated("o-1")
	for range 3 {
		c.calls.FailNext(errors.New("second write refused")) // the fake has written once by then
		c.deliver(t, d).want(t, 500, "handler-failed")
		c.wantEffects(t, 0)
		c.wantNoRow(t, d)
	}
	c.deliver(t, d).want(t, 200, "applied")
	c.wantEffects(t, 1)
}

// W-10: another body under a known key is refused, and the first stays.
func TestCaseW10_SameKeyWithAnotherBody(t *testing.T) {
	c := newConsumer(t, nil)
	d := orderCreated("o-1")
	c.deliver(t, d).want(t, 200, "applied")
	other := d
	other.body = strings.Replace(d.body, `"10"`, `"99"`, 1)
	if other.key(t) != d.key(t) || other.body == d.body {
		t.Fatal("the test's two bodies do not share a key")
	}
	c.deliver(t, other).want(t, 422, "key-reused")
	c.deliver(t, d).want(t, 200, "duplicate")
	c.wantEffects(t, 1)
}

// W-10: two consumers of one store apply the event once each.
func TestCaseW10_SameKeyForTwoConsumers(t *testing.T) {
	billing := newConsumer(t, nil)
	shipping := newConsumer(t, nil)
	receiver, err := inbox.NewReceiver(billing.store, shipping.eventTypes(), inbox.Config{
		Consumer: "shipping", Sources: []string{source}, Secrets: []string{secretText(1)}, Now: shipping.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	shipping.Receiver = receiver
	for _, want := range []string{"applied", "duplicate"} {
		billing.deliver(t, orderCreated("o-1")).want(t, 200, want)
		shipping.deliver(t, orderCreated("o-1")).want(t, 200, want)
	}
	billing.wantEffects(t, 1)
	shipping.wantEffects(t, 1)
}

// W-10: the window is the retention, to the purge that follows it.
func TestCaseW10_SameKeyAfterTheRetention(t *testing.T) {
	c := newConsumer(t, func(cfg *inbox.Config) { cfg.Retention = 24 * time.Hour })
	d := orderCreated("o-1")
	purge := func(want int) {
		t.Helper()
		if n, err := c.Purge(t.Context()); n != want || err != nil {
			t.Fatalf("Purge = %d, %v; want %d", n, err, want)
		}
	}
	c.deliver(t, d).want(t, 200, "applied")
	c.clock.Advance(24 * time.Hour)
	purge(0)
	c.deliver(t, d).want(t, 200, "duplicate")
	c.clock.Advance(time.Second)
	purge(1)
	c.deliver(t, d).want(t, 200, "applied")
	c.wantEffects(t, 2)
}
