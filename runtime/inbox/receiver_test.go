package inbox_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/webhook/signature"
)

func TestReceiver_AppliesThenKnowsTheDuplicate(t *testing.T) {
	c := newConsumer(t, nil)
	d := orderCreated("o-1")
	c.deliver(t, d).want(t, 200, "applied")
	c.clock.Advance(10 * time.Minute) // a later attempt has a timestamp of its own
	c.deliver(t, d).want(t, 200, "duplicate")
	c.wantEffects(t, 1)
}

func TestReceiver_TellsTheHandlerWhatTheWireSays(t *testing.T) {
	c := newConsumer(t, nil)
	var inside outbox.Trace
	c.inside = func(ctx context.Context, _ inbox.Message) { inside = outbox.TraceFromContext(ctx) }
	d := orderCreated("o-1")
	req := c.signed(t, d)
	trace := outbox.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=1,b=2"}
	req.Header.Set("traceparent", trace.Parent)
	req.Header.Add("tracestate", "a=1")
	req.Header.Add("tracestate", "b=2")
	c.serve(t, req).want(t, 200, "applied")
	m := c.calls.All()[0]
	if m.EventID.String() != d.id || m.Type != "order.created" || m.Version != 1 || m.IdempotencyKey != d.key(t) ||
		m.Source != source || !m.Timestamp.Equal(c.clock.Now()) || m.Trace != trace {
		t.Errorf("the handler was told %+v", m)
	}
	if inside != trace {
		t.Errorf("what the handler inserts would carry the trace %+v, want the event's", inside)
	}
}

func TestReceiver_DropsAMalformedTraceAndTakesTheEvent(t *testing.T) {
	for _, parent := range []string{
		"", "junk", "00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-extra",
	} {
		c := newConsumer(t, nil)
		req := c.signed(t, orderCreated("o-1"))
		req.Header.Set("traceparent", parent)
		req.Header.Set("tracestate", "a=1")
		c.serve(t, req).want(t, 200, "applied")
		if got := c.calls.All()[0].Trace; got != (outbox.Trace{}) {
			t.Errorf("traceparent %q arrived as %+v", parent, got)
		}
	}
}

// refusal is a request that must not be applied, and what it must be told.
type refusal struct {
	name   string
	spoil  func(*http.Request)
	status int
	code   string
}

func set(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func del(name string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Del(name) }
}

func twice(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Add(name, value) }
}

func body(text string) func(*http.Request) {
	return func(r *http.Request) { withBody(r, text) }
}

func TestReceiver_RefusesWithoutEffectOrRow(t *testing.T) {
	for _, test := range []refusal{
		{"GET", func(r *http.Request) { r.Method = http.MethodGet }, 405, "method-not-allowed"},
		{"PUT", func(r *http.Request) { r.Method = http.MethodPut }, 405, "method-not-allowed"},
		{"no content type", del("Content-Type"), 415, "unsupported-media-type"},
		{"two content types", twice("Content-Type", "application/json"), 415, "unsupported-media-type"},
		{"form", set("Content-Type", "application/x-www-form-urlencoded"), 415, "unsupported-media-type"},
		{"structured CloudEvent", set("Content-Type", "application/cloudevents+json"), 415, "unsupported-media-type"},
		{"latin-1", set("Content-Type", "application/json; charset=iso-8859-1"), 415, "unsupported-media-type"},
		{"malformed content type", set("Content-Type", "application/json; charset"), 415, "unsupported-media-type"},
		{"compressed", set("Content-Encoding", "gzip"), 415, "unsupported-media-type"},
		{"no webhook-id", del("webhook-id"), 401, "bad-headers"},
		{"no timestamp", del("webhook-timestamp"), 401, "bad-headers"},
		{"no signature", del("webhook-signature"), 401, "bad-headers"},
		{"two signature headers", twice("webhook-signature", "v1,AAAA"), 401, "bad-headers"},
		{"two timestamps", twice("webhook-timestamp", "1"), 401, "bad-headers"},
		{"fractional timestamp", set("webhook-timestamp", "1772366400.0"), 401, "bad-headers"},
		{"negative timestamp", set("webhook-timestamp", "-1"), 401, "bad-headers"},
		{"id with a full stop", set("webhook-id", "a.b"), 401, "bad-headers"},
		{"junk signature", set("webhook-signature", "invalid_signature"), 401, "bad-signature"},
		{"unknown signature version", set("webhook-signature", "v9,AAAA"), 401, "bad-signature"},
		{"another id", set("webhook-id", strings.Repeat("a", 64)), 401, "bad-signature"},
		{"another body", body(`{"amount":"99","order_id":"o-1"}`), 401, "bad-signature"},
		{"a space behind the body", body(orderCreated("o-1").body + " "), 401, "bad-signature"},
		{"no X-Event-Id", del("X-Event-Id"), 401, "bad-headers"},
		{"upper-case X-Event-Id", both("X-Event-Id", "ce-id", strings.ToUpper(firstID)), 401, "bad-headers"},
		{"braced X-Event-Id", both("X-Event-Id", "ce-id", "{"+firstID+"}"), 401, "bad-headers"},
		{"no X-Event-Type", del("X-Event-Type"), 401, "bad-headers"},
		{"two X-Event-Types", twice("X-Event-Type", "order.noted"), 401, "bad-headers"},
		{"no X-Event-Version", del("X-Event-Version"), 401, "bad-headers"},
		{"version 0", set("X-Event-Version", "0"), 401, "bad-headers"},
		{"version 01", set("X-Event-Version", "01"), 401, "bad-headers"},
		{"version +1", set("X-Event-Version", "+1"), 401, "bad-headers"},
		{"version of 40 digits", set("X-Event-Version", strings.Repeat("1", 40)), 401, "bad-headers"},
		{"no ce-source", del("ce-source"), 401, "bad-headers"},
		{"another Idempotency-Key", set("Idempotency-Key", strings.Repeat("a", 64)), 401, "bad-headers"},
		{"empty Idempotency-Key", set("Idempotency-Key", ""), 401, "bad-headers"},
		{"another ce-id", set("ce-id", secondID), 401, "bad-headers"},
		{"another ce-type", set("ce-type", "order.noted"), 401, "bad-headers"},
		{"another ce-specversion", set("ce-specversion", "0.3"), 401, "bad-headers"},
		{"badly encoded ce-source", set("ce-source", "/services/%zz"), 401, "bad-headers"},
		{"badly encoded ce-type", set("ce-type", "%"), 401, "bad-headers"},
		{"another source", set("ce-source", "/services/evil"), 401, "unexpected-source"},
		{"unknown type", both("X-Event-Type", "ce-type", "order.shipped"), 404, "unknown-type"},
		{"unknown version", set("X-Event-Version", "3"), 404, "unknown-type"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newConsumer(t, nil)
			d := orderCreated("o-1")
			req := c.signed(t, d)
			test.spoil(req)
			a := c.serve(t, req)
			a.want(t, test.status, test.code)
			c.wantEffects(t, 0)
			c.wantNoRow(t, d)
			switch a.status {
			case 401:
				if a.header.Get("WWW-Authenticate") == "" {
					t.Error("a 401 without WWW-Authenticate (RFC 9110, section 15.5.2)")
				}
			case 405:
				if got := a.header.Get("Allow"); got != http.MethodPost {
					t.Errorf("a 405 with Allow %q (RFC 9110, section 15.5.6)", got)
				}
			}
		})
	}
}

func both(a, b, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(a, value); r.Header.Set(b, value) }
}

func TestReceiver_TakesEqualSpellings(t *testing.T) {
	for name, spell := range map[string]func(*http.Request){
		"charset":               set("Content-Type", `application/json; charset=UTF-8`),
		"identity":              set("Content-Encoding", "identity"),
		"quoted key":            func(r *http.Request) { r.Header.Set("Idempotency-Key", `"`+r.Header.Get("Idempotency-Key")+`"`) },
		"no Idempotency-Key":    del("Idempotency-Key"),
		"no other ce-* headers": func(r *http.Request) { r.Header.Del("ce-id"); r.Header.Del("ce-type"); r.Header.Del("ce-specversion") },
		"encoded ce-*": func(r *http.Request) {
			r.Header.Set("ce-source", "/services%2Forders")
			r.Header.Set("ce-type", "order%2Ecreated")
		},
		"another signature first": func(r *http.Request) { r.Header.Set("webhook-signature", "v1,AAAA "+r.Header.Get("webhook-signature")) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newConsumer(t, nil)
			req := c.signed(t, orderCreated("o-1"))
			spell(req)
			c.serve(t, req).want(t, 200, "applied")
		})
	}
}

// A correctly signed body may be bad still: the sender's own producer is at fault.
func TestReceiver_RefusesSignedBodies(t *testing.T) {
	for _, test := range []struct {
		name, body string
		status     int
		code       string
	}{
		{"empty", ``, 400, "malformed-body"},
		{"no JSON", `order_id=1`, 400, "malformed-body"},
		{"array", `[]`, 400, "malformed-body"},
		{"two values", `{"order_id":"o-1"}{}`, 400, "malformed-body"},
		{"duplicate name", `{"order_id":"o-1","order_id":"o-2"}`, 400, "malformed-body"},
		{"duplicate name, escaped", `{"order_id":"o-1","order\u005fid":"o-2"}`, 400, "malformed-body"},
		{"duplicate name inside", `{"items":[{"a":1,"a":2}],"order_id":"o-1"}`, 400, "malformed-body"},
		{"invalid UTF-8", "{\"order_id\":\"\xff\"}", 400, "malformed-body"},
		{"deeply nested", `{"order_id":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, 400, "malformed-body"},
		{"no member of its type", `{"amount":"10"}`, 422, "undecodable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, version := range []int{1, 2} { // by fields, which reads the body, and by payload, which does not
				c := newConsumer(t, nil)
				policy := byOrder
				if version == 2 {
					policy = byPayload
				}
				d := delivery{"order.created", version, firstID, `{"order_id":"o-1"}`, policy}
				if test.status == 422 {
					d.body = test.body
				}
				req := c.signed(t, d)
				body(test.body)(req)
				sign(t, req, d.key(t), c.clock.Now(), []byte(test.body), c.secret)
				c.serve(t, req).want(t, test.status, test.code)
				c.wantEffects(t, 0)
				c.wantNoRow(t, d)
			}
		})
	}
}

func TestReceiver_SourceTypeAndIDAreProvedByTheKey(t *testing.T) {
	c := newConsumer(t, func(cfg *inbox.Config) { cfg.Sources = append(cfg.Sources, "/services/other") })
	for _, test := range []struct {
		name  string
		d     delivery
		spoil func(*http.Request)
	}{
		{"type", orderCreated("o-1"), both("X-Event-Type", "ce-type", "order.noted")},
		{"source", orderCreated("o-1"), set("ce-source", "/services/other")},
		{"version with another policy", orderCreated("o-1"), set("X-Event-Version", "2")},
		{"id, by event", delivery{"order.noted", 1, firstID, `{"order_id":"o-1"}`, byEvent}, both("X-Event-Id", "ce-id", secondID)},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := c.signed(t, test.d)
			test.spoil(req)
			c.serve(t, req).want(t, 401, "wrong-identity")
			c.wantEffects(t, 0)
			c.wantNoRow(t, test.d)
		})
	}
}

func TestReceiver_TimestampTolerance(t *testing.T) {
	for _, test := range []struct {
		off time.Duration
		ok  bool
	}{{0, true}, {5 * time.Minute, true}, {-5 * time.Minute, true}, {301 * time.Second, false}, {-301 * time.Second, false}, {-240 * time.Hour, false}} {
		c := newConsumer(t, nil)
		req := orderCreated("o-1").request(t, "/", c.clock.Now().Add(test.off), c.secret)
		a := c.serve(t, req)
		if test.ok {
			a.want(t, 200, "applied")
		} else {
			a.want(t, 401, "bad-timestamp")
			c.wantEffects(t, 0)
		}
	}
}

func TestReceiver_TakesEitherSecretWhileOneRotates(t *testing.T) {
	c := newConsumer(t, func(cfg *inbox.Config) { cfg.Secrets = []string{secretText(1), secretText(2)} })
	for i, secret := range []string{secretText(1), secretText(2)} {
		d := orderCreated(strconv.Itoa(i))
		c.serve(t, d.request(t, "/", c.clock.Now(), mustSecret(t, secret))).want(t, 200, "applied")
	}
	d := orderCreated("o-3")
	c.serve(t, d.request(t, "/", c.clock.Now(), mustSecret(t, secretText(3)))).want(t, 401, "bad-signature")
	c.wantEffects(t, 2)
}

func TestReceiver_VerifiesEd25519WithThePublicKeyAlone(t *testing.T) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	public := base64.StdEncoding.EncodeToString(private.Public().(ed25519.PublicKey))
	c := newConsumer(t, func(cfg *inbox.Config) { cfg.Secrets = []string{signature.PrefixPublic + public} })
	signer := mustSecret(t, signature.PrefixPrivate+base64.StdEncoding.EncodeToString(private))
	c.serve(t, orderCreated("o-1").request(t, "/", c.clock.Now(), signer)).want(t, 200, "applied")
	c.serve(t, orderCreated("o-2").request(t, "/", c.clock.Now(), c.secret)).want(t, 401, "bad-signature")
	c.wantEffects(t, 1)
}

func TestReceiver_ShowsNoSecretWhenPrinted(t *testing.T) {
	c := newConsumer(t, nil)
	for _, format := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(format, c.Receiver); strings.Contains(text, strings.TrimPrefix(secretText(1), "whsec_")) {
			t.Errorf("%s shows the secret", format)
		}
	}
}

func TestReceiver_UnsignedOnlyWhenSaid(t *testing.T) {
	c := newConsumer(t, func(cfg *inbox.Config) { cfg.Secrets, cfg.AllowUnsigned = nil, true })
	d := orderCreated("o-1")
	req := d.request(t, "/", c.clock.Now())
	req.Header.Del("webhook-timestamp")
	c.serve(t, req).want(t, 200, "applied")
	if got := c.calls.All()[0].Timestamp; !got.IsZero() {
		t.Errorf("a timestamp out of nothing: %v", got)
	}
	// The key is computed again all the same.
	req = orderCreated("o-2").request(t, "/", c.clock.Now())
	both("webhook-id", "Idempotency-Key", d.key(t))(req)
	c.serve(t, req).want(t, 401, "wrong-identity")
	req = orderCreated("o-2").request(t, "/", c.clock.Now())
	both("webhook-id", "Idempotency-Key", "short")(req)
	c.serve(t, req).want(t, 401, "bad-headers")
	c.wantEffects(t, 1)
}

func TestReceiver_UnknownPolicy(t *testing.T) {
	for _, test := range []struct {
		policy inbox.UnknownPolicy
		status int
		code   string
	}{
		{inbox.UnknownRetry, 404, "unknown-type"},
		{inbox.UnknownReject, 422, "unknown-type-rejected"},
		{inbox.UnknownAcknowledge, 200, "ignored"},
	} {
		c := newConsumer(t, func(cfg *inbox.Config) { cfg.Unknown = test.policy })
		d := delivery{"order.shipped", 1, firstID, `{"order_id":"o-1"}`, byOrder}
		c.deliver(t, d).want(t, test.status, test.code)
		c.wantEffects(t, 0)
		c.wantNoRow(t, d)
		// An unsigned one learns nothing of what is known.
		c.serve(t, d.request(t, "/", c.clock.Now(), mustSecret(t, secretText(9)))).want(t, 401, "bad-signature")
	}
}

func TestReceiver_BodyLimit(t *testing.T) {
	d := orderCreated("o-1")
	limit := int64(len(d.body))
	c := newConsumer(t, func(cfg *inbox.Config) { cfg.MaxBody = limit })
	c.deliver(t, d).want(t, 200, "applied")

	d = orderCreated("o-10")
	req := c.signed(t, d)
	c.serve(t, req).want(t, 413, "body-too-large")
	req = c.signed(t, d)
	req.ContentLength = -1 // chunked: the length is not known before
	c.serve(t, req).want(t, 413, "body-too-large")
	c.wantEffects(t, 1)
}

func TestReceiver_HandlerErrors(t *testing.T) {
	private := errors.New("pq: password authentication failed for user billing")
	for _, test := range []struct {
		name   string
		err    error
		status int
		code   string
	}{
		{"failure", private, 500, "handler-failed"},
		{"rejection", inbox.Reject(private), 422, "rejected"},
		{"rejection, wrapped", errors.Join(errors.New("order o-1"), inbox.Reject(private)), 422, "rejected"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newConsumer(t, nil)
			c.calls.FailNext(test.err)
			d := orderCreated("o-1")
			a := c.deliver(t, d)
			a.want(t, test.status, test.code)
			c.wantEffects(t, 0)
			c.wantNoRow(t, d)
			if strings.Contains(a.body, "password") {
				t.Errorf("the handler's error reached the sender: %s", a.body)
			}
			if !strings.Contains(c.logs.String(), private.Error()) || !strings.Contains(c.logs.String(), d.key(t)) {
				t.Errorf("the log does not tell what failed: %s", c.logs.String())
			}
			c.deliver(t, d).want(t, 200, "applied")
			c.wantEffects(t, 1)
		})
	}
	if err := inbox.Reject(nil); err != nil {
		t.Errorf("Reject(nil) = %v", err)
	}
	if err := inbox.Reject(private); !errors.Is(err, private) {
		t.Errorf("Reject hides its cause: %v", err)
	}
}

func TestReceiver_PanicIsRolledBackAndTheReceiverLivesOn(t *testing.T) {
	c := newConsumer(t, nil)
	c.inside = func(context.Context, inbox.Message) { panic("nil map") }
	d := orderCreated("o-1")
	a := c.deliver(t, d)
	a.want(t, 500, "handler-failed")
	c.wantEffects(t, 0)
	c.wantNoRow(t, d)
	if strings.Contains(a.body, "nil map") {
		t.Errorf("the panic reached the sender: %s", a.body)
	}
	if logs := c.logs.String(); !strings.Contains(logs, "nil map") || !strings.Contains(logs, "receiver_test.go") {
		t.Errorf("the log has no panic with its stack: %s", logs)
	}
	c.inside = nil
	c.deliver(t, d).want(t, 200, "applied")
	c.wantEffects(t, 1)
}

// brokenStore fails as a store may.
type brokenStore struct {
	result inbox.Result
	err    error
}

func (s brokenStore) Apply(context.Context, inbox.Entry, func(context.Context, *inbox.MemoryTx) error) (inbox.Result, error) {
	return s.result, s.err
}

func (s brokenStore) Purge(context.Context, string, time.Duration, int) (int, error) {
	return 0, s.err
}

func TestReceiver_StoreFailureIsNoSuccessAndNotTheEventsFault(t *testing.T) {
	for _, store := range []brokenStore{
		{err: errors.New("disk full at /var/lib/shop.db")},
		{err: inbox.Reject(inbox.ErrUndecodable)}, // a store cannot blame the event
		{result: 0},
		{result: 99},
	} {
		c := newConsumer(t, nil)
		receiver, err := inbox.NewReceiver(store, c.eventTypes(), inbox.Config{Consumer: "billing", Sources: []string{source}, Secrets: []string{secretText(1)}, Now: c.clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		c.Receiver = receiver
		a := c.deliver(t, orderCreated("o-1"))
		a.want(t, 500, "store-failed")
		if strings.Contains(a.body, "shop.db") {
			t.Errorf("the store's error reached the sender: %s", a.body)
		}
	}
}

func TestReceiver_KeyInProgressIs409(t *testing.T) {
	c := newConsumer(t, nil)
	entered, release := make(chan struct{}), make(chan struct{})
	c.inside = func(context.Context, inbox.Message) { close(entered); <-release }
	d := orderCreated("o-1")
	first := make(chan answered, 1)
	go func() { first <- c.deliver(t, d) }()
	<-entered
	a := c.deliver(t, d)
	a.want(t, 409, "in-progress")
	if a.header.Get("Retry-After") == "" {
		t.Error("a 409 does not say when to come again")
	}
	close(release)
	(<-first).want(t, 200, "applied")
	c.deliver(t, d).want(t, 200, "duplicate")
	c.wantEffects(t, 1)
}

func TestReceiver_HandlerRunsOnWhenTheSenderHangsUp(t *testing.T) {
	c := newConsumer(t, nil)
	d := orderCreated("o-1")
	ctx, hangUp := context.WithCancel(t.Context())
	var during error
	c.inside = func(ctx context.Context, _ inbox.Message) { hangUp(); during = ctx.Err() }
	c.serve(t, c.signed(t, d).WithContext(ctx)).want(t, 200, "applied")
	if during != nil {
		t.Errorf("the handler's context ended with the sender: %v", during)
	}
	c.wantEffects(t, 1)
}

func TestReceiver_HandlerTimeoutRollsBack(t *testing.T) {
	c := newConsumer(t, func(cfg *inbox.Config) { cfg.HandlerTimeout = time.Millisecond })
	c.inside = func(ctx context.Context, _ inbox.Message) { <-ctx.Done() }
	d := orderCreated("o-1")
	c.deliver(t, d).want(t, 503, "timed-out")
	c.wantEffects(t, 0)
	c.wantNoRow(t, d)
}
