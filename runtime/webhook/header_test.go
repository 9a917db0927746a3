package webhook

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/webhook/signature"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// received is what a server got.
type received struct {
	header http.Header
	body   string
	host   string
	uri    string
}

// sendOnce makes one attempt and returns what arrived.
func sendOnce(t *testing.T, change func(c *Config), d *outbox.Delivery) received {
	t.Helper()
	var got received
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || len(r.TransferEncoding) > 0 || r.ContentLength != int64(len(body)) {
			t.Errorf("%s, %v, Content-Length %d, Transfer-Encoding %v", r.Method, err, r.ContentLength, r.TransferEncoding)
		}
		got = received{r.Header, string(body), r.Host, r.RequestURI}
	})
	c := config(server.URL)
	if change != nil {
		change(&c)
	}
	if o := open(t, c).Send(t.Context(), d); o.Result != outbox.Delivered {
		t.Fatalf("got %+v (%+v)", o, o.Failure)
	}
	return got
}

// The header table of the design, line by line.
func TestSend_Headers(t *testing.T) {
	d := delivery()
	d.Trace = outbox.Trace{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", State: "vendor=a,other=b"}
	before := time.Now().Unix()
	got := sendOnce(t, func(c *Config) {
		c.URL += "/hooks?shop=7"
		c.Secrets = []string{testSecret}
		c.Headers = map[string]string{"x-tenant": "shop", "X-Empty": ""}
	}, d)
	after := time.Now().Unix()

	if got.body != string(d.Payload) || got.uri != "/hooks?shop=7" {
		t.Errorf("got %q at %s", got.body, got.uri)
	}
	want := map[string]string{
		"Content-Type":      "application/json",
		"User-Agent":        "outboxgen-webhook/1",
		"Idempotency-Key":   d.IdempotencyKey,
		"X-Event-Id":        "01932c07-0000-7000-8000-000000000001",
		"X-Event-Type":      "order.created",
		"X-Event-Version":   "2",
		"Webhook-Id":        d.IdempotencyKey,
		"Webhook-Timestamp": got.header.Get("webhook-timestamp"),
		"Webhook-Signature": got.header.Get("webhook-signature"),
		"Ce-Specversion":    "1.0",
		"Ce-Id":             "01932c07-0000-7000-8000-000000000001",
		"Ce-Source":         "/services/orders",
		"Ce-Type":           "order.created",
		"Ce-Time":           "2026-01-31T09:30:00.12Z",
		"Traceparent":       d.Trace.Parent,
		"Tracestate":        d.Trace.State,
	}
	if names := Headers(); len(names) != len(want) {
		t.Errorf("Headers has %d names, want %d", len(names), len(want))
	} else {
		for _, name := range names {
			if _, ok := want[name]; !ok {
				t.Errorf("Headers has %s", name)
			}
		}
	}
	want["X-Tenant"], want["X-Empty"], want["Content-Length"] = "shop", "", strconv.Itoa(len(d.Payload))
	for name, values := range got.header {
		if value, ok := want[name]; !ok || !slices.Equal(values, []string{value}) {
			t.Errorf("%s: %q, want %q", name, values, value)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
	if at, err := strconv.ParseInt(got.header.Get("webhook-timestamp"), 10, 64); err != nil || at < before || at > after {
		t.Errorf("webhook-timestamp %d is not between %d and %d", at, before, after)
	}
}

func TestSend_TimestampIsTheAttempts(t *testing.T) {
	var got []string
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Header.Get("webhook-timestamp")) })
	s := open(t, config(server.URL))
	now := time.Unix(1_700_000_000, 999_999_999)
	s.now = func() time.Time { return now }
	s.Send(t.Context(), delivery())
	now = now.Add(time.Hour)
	s.Send(t.Context(), delivery())
	if !slices.Equal(got, []string{"1700000000", "1700003600"}) {
		t.Errorf("got %q", got)
	}
}

// Our signatures pass the public library, and each of several secrets suffices.
func TestSend_SignsWithEverySecret(t *testing.T) {
	const (
		old = "whsec_" + "C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
		// The published Ed25519 test key.
		private = "whsk_" + "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
		public  = "whpk_" + "1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
	)
	got := sendOnce(t, func(c *Config) { c.Secrets = []string{testSecret, private, old} }, delivery())
	header := got.header.Get("webhook-signature")
	parts := strings.Split(header, " ")
	if len(parts) != 3 || !strings.HasPrefix(parts[0], "v1,") || !strings.HasPrefix(parts[1], "v1a,") || !strings.HasPrefix(parts[2], "v1,") {
		t.Fatalf("webhook-signature: %s", header)
	}
	for _, secret := range []string{testSecret, old} {
		theirs, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := theirs.Verify([]byte(got.body), got.header); err != nil {
			t.Errorf("the public library refuses: %v", err)
		}
		if theirs.Verify([]byte(got.body+" "), got.header) == nil {
			t.Error("the public library takes anything")
		}
	}
	for _, text := range []string{testSecret, old, private, public} {
		secret, err := signature.ParseSecret(text)
		if err != nil {
			t.Fatal(err)
		}
		m := signature.Message{ID: got.header.Get("webhook-id"), Timestamp: got.header.Get("webhook-timestamp"), Signature: header, Body: []byte(got.body)}
		if err := signature.Verify([]signature.Secret{secret}, m, time.Now(), 0); err != nil {
			t.Errorf("%v: %v", secret, err)
		}
	}
	if unsigned := sendOnce(t, nil, delivery()); unsigned.header.Get("webhook-signature") != "" {
		t.Error("a signature without a secret")
	}
}

func TestSend_QuotedIdempotencyKey(t *testing.T) {
	d := delivery()
	got := sendOnce(t, func(c *Config) { c.QuotedIdempotencyKey = true }, d)
	if got.header.Get("Idempotency-Key") != `"`+d.IdempotencyKey+`"` || got.header.Get("webhook-id") != d.IdempotencyKey {
		t.Errorf("Idempotency-Key: %s, webhook-id: %s", got.header.Get("Idempotency-Key"), got.header.Get("webhook-id"))
	}
}

func TestSend_TraceIsPassedOnOnlyWhenItIsOne(t *testing.T) {
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, c := range []struct {
		trace         outbox.Trace
		parent, state string
	}{
		{outbox.Trace{}, "", ""},
		{outbox.Trace{Parent: good}, good, ""},
		{outbox.Trace{Parent: good, State: "a=1"}, good, "a=1"},
		{outbox.Trace{State: "a=1"}, "", ""},
		{outbox.Trace{Parent: good, State: "a=1\r\nX-Evil: 1"}, good, ""},
		{outbox.Trace{Parent: good, State: strings.Repeat("a", 513)}, good, ""},
		{outbox.Trace{Parent: good + "\r\nX-Evil: 1"}, "", ""},
		{outbox.Trace{Parent: strings.ToUpper(good)}, "", ""},
		{outbox.Trace{Parent: "00-00000000000000000000000000000000-00f067aa0ba902b7-01"}, "", ""},
		{outbox.Trace{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"}, "", ""},
		{outbox.Trace{Parent: "ff" + good[2:]}, "", ""},
	} {
		d := delivery()
		d.Trace = c.trace
		got := sendOnce(t, nil, d)
		if got.header.Get("traceparent") != c.parent || got.header.Get("tracestate") != c.state || got.header.Get("X-Evil") != "" {
			t.Errorf("%+v: got %v", c.trace, got.header)
		}
	}
}

func TestSend_AnEventThatCannotStandInHeadersIsAtFault(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	s := open(t, config(server.URL))
	for _, change := range []func(d *outbox.Delivery){
		func(d *outbox.Delivery) { d.Type = "a\r\nX: 1" },
		func(d *outbox.Delivery) { d.Type = "" },
		func(d *outbox.Delivery) { d.Type = "größe" },
		func(d *outbox.Delivery) { d.IdempotencyKey = "a\r\nX: 1" },
		func(d *outbox.Delivery) { d.IdempotencyKey = "" },
	} {
		d := delivery()
		change(d)
		if got := s.Send(t.Context(), d); got.Result != outbox.Rejected || got.Breaker != breaker.Neutral || got.Failure.Cause != CauseEvent {
			t.Errorf("%q: got %+v", d.Type, got)
		}
	}
}

func TestSend_AMessageThatCannotBeSignedIsALocalFault(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	c := config(server.URL)
	c.Secrets = []string{testSecret}
	d := delivery()
	d.IdempotencyKey = "a.b" // could be shifted against the timestamp
	got := open(t, c).Send(t.Context(), d)
	if got.Result != outbox.LocalFault || got.Breaker != breaker.Neutral || got.Failure.Cause != CauseSigning {
		t.Errorf("got %+v", got)
	}
}

func TestSend_BasicAuthenticationFromTheURL(t *testing.T) {
	got := sendOnce(t, func(c *Config) { c.URL = strings.Replace(c.URL, "http://", "http://jane:open%20sesame@", 1) }, delivery())
	if want := "Basic amFuZTpvcGVuIHNlc2FtZQ=="; got.header.Get("Authorization") != want || strings.Contains(got.host, "jane") {
		t.Errorf("Authorization: %s, Host: %s", got.header.Get("Authorization"), got.host)
	}
}

func TestCheckHeader(t *testing.T) {
	for name, value := range map[string]string{
		"X-Tenant": "shop", "x-a": "", "Authorization": "Bearer a b\tc", "Accept": "*/*", "X!#$%&'*+.^_`|~1": "~",
	} {
		if err := CheckHeader(name, value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	names := append(Headers(), "", "a b", "a:b", "é", "a\n", "host", "content-length", "Transfer-Encoding", "connection",
		"ce-anything", "WEBHOOK-anything", "x-event-anything", "te", "Trailer", "upgrade", "expect", "Proxy-Authorization")
	for _, name := range names {
		if CheckHeader(name, "x") == nil {
			t.Errorf("%q is taken", name)
		}
	}
	for _, value := range []string{"a\nb", "a\r\nX: 1", "a\x00", "é", " a", "a\t", "\x7f"} {
		if err := CheckHeader("X-A", value); err == nil || strings.Contains(err.Error(), "X: 1") {
			t.Errorf("%q: %v", value, err)
		}
	}
}

func TestEncodeCloudEvent(t *testing.T) {
	for in, want := range map[string]string{
		"/services/orders": "/services/orders",
		`a "b" 100%`:       "a%20%22b%22%20100%25",
		"é€😀":              "%C3%A9%E2%82%AC%F0%9F%98%80", // the binding's own example
	} {
		if got := encodeCloudEvent(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}
