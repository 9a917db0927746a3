package inbox_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/outboxtest"
	"github.com/outboxgen/outboxgen/runtime/webhook"
)

const wireFile = "../../docs/wire.md"

// block returns the part of a document between <!-- name --> and <!-- /name -->.
func block(t *testing.T, file, name string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "<!-- "+name+" -->\n")
	inner, _, closed := strings.Cut(rest, "<!-- /"+name+" -->")
	if !ok || !closed {
		t.Fatalf("%s has no block %s", file, name)
	}
	return inner
}

func wantBlock(t *testing.T, name, want string) {
	t.Helper()
	if got := block(t, wireFile, name); got != want {
		t.Errorf("the table %s of %s is not what the code does; it should be:\n%s", name, wireFile, want)
	}
}

// fate is what becomes of a delivery, in the words of docs/wire.md.
func fate(r outbox.Result) string {
	return map[outbox.Result]string{
		outbox.Delivered:  "PUBLISHED",
		outbox.Failed:     "tried again after backoff; dead letter when spent",
		outbox.Rejected:   "dead letter at once",
		outbox.Paused:     "destination paused that long; no attempt spent",
		outbox.Disabled:   "destination disabled until enabled; no attempt spent",
		outbox.LocalFault: "destination paused with growing backoff; no attempt spent",
		outbox.Cancelled:  "given back; no attempt spent",
	}[r]
}

func toBreaker(o breaker.Outcome) string {
	return map[breaker.Outcome]string{breaker.Success: "success", breaker.Failure: "failure", breaker.Neutral: "neutral"}[o]
}

// sender is the real one, to url, with the secret of newConsumer.
func sender(t *testing.T, url string) outbox.Sender {
	t.Helper()
	dest, err := webhook.New(webhook.Config{Name: "billing", URL: url, Source: source, Secrets: []string{secretText(1)}})
	if err != nil {
		t.Fatal(err)
	}
	if closer, ok := dest.Sender.(interface{ Close() error }); ok {
		t.Cleanup(func() {
			if err := closer.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return dest.Sender
}

// outgoing is d as the store hands it to the sender.
func (d delivery) outgoing(t *testing.T) *outbox.Delivery {
	t.Helper()
	return &outbox.Delivery{Event: &outbox.Event{
		ID: uuid.MustParse(d.id), Type: d.eventType, Version: d.version, Payload: []byte(d.body), IdempotencyKey: d.key(t),
		CreatedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Trace:     outbox.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=1"},
	}, Destination: "billing"}
}

// TestWire_AnswersMeanToTheSenderWhatTheTableSays asks the real sender what
// it makes of each answer's status.
func TestWire_AnswersMeanToTheSenderWhatTheTableSays(t *testing.T) {
	var table strings.Builder
	table.WriteString("| result | status | when | what to do | our sender |\n|---|---|---|---|---|\n")
	server := outboxtest.NewServer(t, nil)
	from := sender(t, server.URL())
	d := orderCreated("o-1").outgoing(t)
	for _, a := range inbox.Answers() {
		server.FailNext(outboxtest.Status(a.Status))
		outcome := from.Send(bounded(t), d)
		title := a.Title
		if title == "" {
			title = map[string]string{
				"applied":   "The handler's transaction is committed",
				"duplicate": "It was applied before; nothing was done",
				"ignored":   "A type or version that the receiver was told not to care for; nothing was done",
			}[a.Code]
		}
		todo := a.Todo
		if todo == "" {
			todo = "–"
		}
		fmt.Fprintf(&table, "| <a id=\"%[1]s\"></a>`%[1]s` | %d | %s | %s | %s |\n", a.Code, a.Status, title, todo, fate(outcome.Result))
	}
	wantBlock(t, "answers", table.String())
}

func TestWire_AllAnswersAreInTheTable(t *testing.T) {
	text, err := os.ReadFile("answer.go")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(inbox.Answers()), strings.Count(string(text), "&outcome{"); got != want {
		t.Errorf("%d answers are listed for the documents, the code has %d", got, want)
	}
	seen := map[string]bool{}
	for _, a := range inbox.Answers() {
		if seen[a.Code] {
			t.Errorf("two answers are called %s", a.Code)
		}
		seen[a.Code] = true
	}
}

func TestWire_SendersTable(t *testing.T) {
	var table strings.Builder
	table.WriteString("| answer | the delivery | breaker |\n|---|---|---|\n")
	for _, a := range webhook.Answers() {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", a.When, fate(a.Result), toBreaker(a.Breaker))
	}
	wantBlock(t, "sender", table.String())
}

// headerRows are the rows of the header table: name and what it says of our
// receiver.
func headerRows(t *testing.T) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, line := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .* \\| ([^|]+) \\|$").FindAllStringSubmatch(block(t, wireFile, "headers"), -1) {
		rows[line[1]] = line[2]
	}
	return rows
}

func TestWire_HeadersAreTheSendersOwn(t *testing.T) {
	var have, want []string
	for name := range headerRows(t) {
		have = append(have, http.CanonicalHeaderKey(name))
	}
	for _, name := range webhook.Headers() {
		want = append(want, http.CanonicalHeaderKey(name))
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("the header table has %q, the sender sends %q", have, want)
	}
}

// TestWire_ReceiverAsksForTheHeadersThatTheTableSays takes each header away
// from a request of the real sender, then makes it say something else, then
// repeats it.
func TestWire_ReceiverAsksForTheHeadersThatTheTableSays(t *testing.T) {
	server := outboxtest.NewServer(t, nil)
	d := orderCreated("o-1")
	if o := sender(t, server.URL()).Send(bounded(t), d.outgoing(t)); o.Result != outbox.Delivered {
		t.Fatalf("the capture came to %+v", o)
	}
	captured := server.Requests()[0].Header
	accepts := func(change func(http.Header)) bool {
		c := newConsumer(t, nil)
		c.clock.Advance(time.Since(c.clock.Now())) // the sender's clock is the real one
		req := d.request(t, "/", c.clock.Now(), c.secret)
		req.Header = captured.Clone()
		change(req.Header)
		return c.serve(t, req).status == http.StatusOK
	}
	if !accepts(func(http.Header) {}) {
		t.Fatal("the sender's own request is refused")
	}
	for name, says := range headerRows(t) {
		if captured.Get(name) == "" {
			t.Errorf("the sender did not send %s", name)
			continue
		}
		required := strings.HasPrefix(says, "required")
		checked := required || strings.HasPrefix(says, "must agree")
		if got := accepts(func(h http.Header) { h.Del(name) }); got == required {
			t.Errorf("%s (%s): accepted without it: %t", name, says, got)
		}
		if got := accepts(func(h http.Header) { h.Set(name, "2") }); got == checked {
			t.Errorf("%s (%s): accepted with another value: %t", name, says, got)
		}
		if got := accepts(func(h http.Header) { h.Add(name, h.Get(name)) }); got == checked {
			t.Errorf("%s (%s): accepted when it stands twice: %t", name, says, got)
		}
	}
}

// The sender's words for each header value are the table's.
func TestWire_SenderSaysWhatTheTableSays(t *testing.T) {
	server := outboxtest.NewServer(t, nil)
	d := orderCreated("o-1")
	if o := sender(t, server.URL()).Send(context.WithoutCancel(t.Context()), d.outgoing(t)); o.Result != outbox.Delivered {
		t.Fatalf("the capture came to %+v", o)
	}
	r := server.Requests()[0]
	if r.Method != http.MethodPost || string(r.Body) != d.body {
		t.Errorf("the request is %s %q", r.Method, r.Body)
	}
	for name, want := range map[string]string{
		"Content-Type":      `^application/json$`,
		"Idempotency-Key":   `^` + d.key(t) + `$`,
		"X-Event-Id":        `^` + d.id + `$`,
		"X-Event-Type":      `^order\.created$`,
		"X-Event-Version":   `^1$`,
		"webhook-id":        `^` + d.key(t) + `$`,
		"webhook-timestamp": `^[0-9]{10}$`,
		"webhook-signature": `^v1,[A-Za-z0-9+/]{43}=$`,
		"ce-specversion":    `^1\.0$`,
		"ce-id":             `^` + d.id + `$`,
		"ce-source":         `^/services/orders$`,
		"ce-type":           `^order\.created$`,
		"ce-time":           `^2026-03-01T12:00:00Z$`,
		"traceparent":       `^00-0af7`,
		"tracestate":        `^a=1$`,
		"User-Agent":        `^outboxgen-webhook/1$`,
	} {
		if got := r.Header.Get(name); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s is %q, want %s", name, got, want)
		}
	}
}
