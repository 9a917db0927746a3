package inbox_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/outboxtest"
	"github.com/outboxgen/outboxgen/runtime/webhook/signature"
)

const (
	source   = "/services/orders"
	firstID  = "01890a5d-ac96-774b-bcce-b302099a8057"
	secondID = "01890a5d-ac96-774b-bcce-b302099a8058"
)

// secretText makes a test secret; n tells secrets apart.
func secretText(n byte) string {
	return signature.PrefixSymmetric + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{n}, 32))
}

func mustSecret(t testing.TB, text string) signature.Secret {
	t.Helper()
	s, err := signature.ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	byOrder   = canonical.Policy{Mode: canonical.ByFields, Fields: []string{"order_id"}}
	byPayload = canonical.Policy{Mode: canonical.ByPayload}
	byEvent   = canonical.Policy{Mode: canonical.ByEvent}
)

// delivery is what a sender knows of an event.
type delivery struct {
	eventType string
	version   int
	id        string
	body      string
	policy    canonical.Policy
}

func orderCreated(order string) delivery {
	return delivery{"order.created", 1, firstID, fmt.Sprintf(`{"amount":"10","order_id":%q}`, order), byOrder}
}

func (d delivery) key(t testing.TB) string {
	t.Helper()
	key, err := canonical.Key(source, d.eventType, d.policy, d.id, []byte(d.body))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// request is the delivery as docs/wire.md describes it, signed at the time at.
func (d delivery) request(t testing.TB, url string, at time.Time, secrets ...signature.Secret) *http.Request {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, url, bytes.NewReader([]byte(d.body)))
	req.RequestURI = "" // it may be sent by a client too
	key := d.key(t)
	for name, value := range map[string]string{
		"Content-Type":      "application/json",
		"Idempotency-Key":   key,
		"X-Event-Id":        d.id,
		"X-Event-Type":      d.eventType,
		"X-Event-Version":   strconv.Itoa(d.version),
		"webhook-id":        key,
		"webhook-timestamp": strconv.FormatInt(at.Unix(), 10),
		"ce-specversion":    "1.0",
		"ce-id":             d.id,
		"ce-source":         source,
		"ce-type":           d.eventType,
	} {
		req.Header.Set(name, value)
	}
	if len(secrets) > 0 {
		sign(t, req, key, at, []byte(d.body), secrets...)
	}
	return req
}

func withBody(r *http.Request, text string) {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
}

func sign(t testing.TB, req *http.Request, id string, at time.Time, body []byte, secrets ...signature.Secret) {
	t.Helper()
	text, err := signature.Sign(secrets, id, at, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(signature.HeaderID, id)
	req.Header.Set(signature.HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	req.Header.Set(signature.HeaderSignature, text)
}

// consumer is a receiver on a Memory store whose handler counts what it did.
type consumer struct {
	*inbox.Receiver
	store  *inbox.Memory
	clock  *outboxtest.Clock
	secret signature.Secret
	logs   *lockedBuffer
	calls  outboxtest.Calls[inbox.Message] // what the handler was called with

	mu      sync.Mutex
	effects []string // bodies, of committed transactions only
	inside  func(ctx context.Context, m inbox.Message)
}

// newConsumer makes one for order.created@1 (by order_id), order.created@2
// (by payload) and order.noted@1 (by event). configure may be nil.
func newConsumer(t testing.TB, configure func(*inbox.Config)) *consumer {
	t.Helper()
	c := &consumer{
		clock:  outboxtest.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
		secret: mustSecret(t, secretText(1)),
		logs:   &lockedBuffer{},
	}
	c.store = inbox.NewMemory(c.clock.Now)
	cfg := inbox.Config{
		Consumer: "billing",
		Sources:  []string{source},
		Secrets:  []string{secretText(1)},
		Now:      c.clock.Now,
		Logger:   slog.New(slog.NewJSONHandler(c.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if configure != nil {
		configure(&cfg)
	}
	receiver, err := inbox.NewReceiver(c.store, c.eventTypes(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.Receiver = receiver
	return c
}

func (c *consumer) eventTypes() []inbox.EventType[*inbox.MemoryTx] {
	return []inbox.EventType[*inbox.MemoryTx]{
		{Type: "order.created", Version: 1, Idempotency: byOrder, Apply: c.apply},
		{Type: "order.created", Version: 2, Idempotency: byPayload, Apply: c.apply},
		{Type: "order.noted", Version: 1, Idempotency: byEvent, Apply: c.apply},
	}
}

func (c *consumer) apply(ctx context.Context, tx *inbox.MemoryTx, body []byte, m inbox.Message) error {
	var e struct {
		OrderID *string `json:"order_id"`
	}
	if err := json.Unmarshal(body, &e); err != nil || e.OrderID == nil {
		return fmt.Errorf("%w: order_id is missing", inbox.ErrUndecodable)
	}
	tx.OnCommit(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.effects = append(c.effects, string(body))
	})
	if c.inside != nil {
		c.inside(ctx, m)
	}
	return c.calls.Call(m)
}

func (c *consumer) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.effects)
}

// signed is d as an honest sender sends it now.
func (c *consumer) signed(t testing.TB, d delivery) *http.Request {
	t.Helper()
	return d.request(t, "/hooks/billing", c.clock.Now(), c.secret)
}

// answered is an answer as its reader sees it.
type answered struct {
	status int
	code   string
	header http.Header
	body   string
}

func (c *consumer) serve(t testing.TB, req *http.Request) answered {
	t.Helper()
	w := httptest.NewRecorder()
	c.ServeHTTP(w, req)
	return readAnswer(t, w.Result())
}

func (c *consumer) deliver(t testing.TB, d delivery) answered {
	t.Helper()
	return c.serve(t, c.signed(t, d))
}

// readAnswer checks the form that every answer has.
func readAnswer(t testing.TB, resp *http.Response) answered {
	t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answered{status: resp.StatusCode, header: resp.Header, body: string(text)}
	var doc struct {
		Type, Title, Detail, Result string
		Status                      int
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatalf("the answer's body is no JSON: %v: %q", err, text)
	}
	contentType := resp.Header.Get("Content-Type")
	if resp.StatusCode == http.StatusOK {
		a.code = doc.Result
		if contentType != "application/json" || a.code == "" {
			t.Fatalf("a success has content type %q and result %q", contentType, a.code)
		}
		return a
	}
	a.code = path.Base(doc.Type)[len("wire.md#"):]
	if contentType != "application/problem+json" || doc.Status != resp.StatusCode || doc.Title == "" || doc.Detail == "" {
		t.Fatalf("a refusal is no problem document: content type %q, body %s", contentType, text)
	}
	return a
}

func (a answered) want(t testing.TB, status int, code string) {
	t.Helper()
	if a.status != status || a.code != code {
		t.Fatalf("answered %d %s, want %d %s; body %s", a.status, a.code, status, code, a.body)
	}
}

func (c *consumer) wantEffects(t testing.TB, n int) {
	t.Helper()
	if got := c.count(); got != n {
		t.Fatalf("%d effects, want %d", got, n)
	}
}

// wantNoRow checks that d left no inbox row: it can be applied still.
func (c *consumer) wantNoRow(t testing.TB, d delivery) {
	t.Helper()
	rowless := errors.New("probe")
	_, err := c.store.Apply(t.Context(), inbox.Entry{Consumer: "billing", IdempotencyKey: d.key(t)},
		func(context.Context, *inbox.MemoryTx) error { return rowless })
	if err != rowless {
		t.Fatalf("there is an inbox row of %s: %v", d.body, err)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
