package inbox_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/inbox"
)

// Whatever the headers say: what is applied has the key of what was said, and
// nothing else has an effect.
func FuzzReceiver_Headers(f *testing.F) {
	d := orderCreated("o-1")
	f.Add("order.created", "1", d.id, d.key(f), d.key(f), source, d.id, "order.created", "1.0")
	f.Add("order.created", "1", d.id, d.key(f), `"`+d.key(f)+`"`, "/services%2Forders", "", "", "")
	f.Add("order.created@1", "01", strings.ToUpper(d.id), strings.ToUpper(d.key(f)), "\r\nX: 1", "%", "\x00", "ö", "1")
	f.Fuzz(func(t *testing.T, eventType, version, id, webhookID, key, ceSource, ceID, ceType, specVersion string) {
		c := newConsumer(t, func(cfg *inbox.Config) { cfg.Secrets, cfg.AllowUnsigned = nil, true })
		req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(d.body))
		req.Header = http.Header{"Content-Type": {"application/json"}}
		for name, value := range map[string]string{
			"X-Event-Type": eventType, "X-Event-Version": version, "X-Event-Id": id, "Webhook-Id": webhookID,
			"Idempotency-Key": key, "Ce-Source": ceSource, "Ce-Id": ceID, "Ce-Type": ceType, "Ce-Specversion": specVersion,
		} {
			if value != "" {
				req.Header[name] = []string{value}
			}
		}
		a := c.serve(t, req)
		if a.status != http.StatusOK {
			c.wantEffects(t, 0)
			return
		}
		c.wantEffects(t, 1)
		policy := map[string]canonical.Policy{"order.created@1": byOrder, "order.created@2": byPayload, "order.noted@1": byEvent}[eventType+"@"+version]
		want, err := canonical.Key(source, eventType, policy, id, []byte(d.body))
		if err != nil || want != webhookID {
			t.Fatalf("%s@%s %s was applied under the key %q, want %q (%v)", eventType, version, id, webhookID, want, err)
		}
		if (key != "" && strings.Trim(key, `"`) != webhookID) || (ceID != "" && ceID != id) || (specVersion != "" && specVersion != "1.0") {
			t.Fatalf("headers that contradict each other were taken: %v", req.Header)
		}
	})
}

// Whatever the three signed values are: an event is applied only under a
// signature that an independent computation agrees with.
func FuzzReceiver_Signature(f *testing.F) {
	c := newConsumer(f, nil)
	d := orderCreated("o-1")
	honest := c.signed(f, d)
	at := honest.Header.Get("webhook-timestamp")
	good := honest.Header.Get("webhook-signature")
	f.Add(d.key(f), at, good, d.body)
	f.Add(d.key(f), at, "v1, "+good+" v2,x", d.body)
	f.Add(d.key(f), at+"0", good, d.body+" ")
	f.Add("", "-1", "v1,", "")
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secretText(1), "whsec_"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, id, timestamp, signature, text string) {
		c := newConsumer(t, nil)
		req := c.signed(t, d)
		req.Header.Set("webhook-id", id)
		req.Header.Set("Idempotency-Key", id)
		req.Header.Set("webhook-timestamp", timestamp)
		req.Header.Set("webhook-signature", signature)
		body(text)(req)
		a := c.serve(t, req)
		if a.status == http.StatusUnauthorized {
			c.wantEffects(t, 0)
			return
		}
		mac := hmac.New(sha256.New, secret)
		io.WriteString(mac, id+"."+timestamp+"."+text)
		if !strings.Contains(signature, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))) {
			t.Fatalf("answered %d under the signature %q", a.status, signature)
		}
		if seconds, err := strconv.ParseInt(timestamp, 10, 64); err != nil || max(seconds-c.clock.Now().Unix(), c.clock.Now().Unix()-seconds) > 300 {
			t.Fatalf("answered %d at the timestamp %q", a.status, timestamp)
		}
	})
}

// Whatever an authentic body is: no panic, and what is applied is a JSON
// object in UTF-8 without names that are there twice.
func FuzzReceiver_Body(f *testing.F) {
	for _, text := range []string{
		`{"order_id":"o-1"}`, ` {"order_id" : "o-1"} `, `{"order_id":"o-1","order_id":"o-1"}`, `{"order_id":"\ud800"}`,
		`{"order\u005fid":"a","order_id":"b"}`, `[]`, `null`, "", "\xff", `{"a":1e400,"order_id":"x"}`, "\ufeff{}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := newConsumer(t, nil)
		d := delivery{"order.noted", 1, firstID, text, byEvent} // its key does not depend on the body
		a := c.deliver(t, d)
		switch a.code {
		case "malformed-body", "undecodable":
			c.wantEffects(t, 0)
		case "applied":
			c.wantEffects(t, 1)
			if !utf8.ValidString(text) || !json.Valid([]byte(text)) {
				t.Fatalf("%q was applied", text)
			}
			if name, twice := repeatedName(t, text); twice {
				t.Fatalf("%q was applied with %q twice", text, name)
			}
		default:
			t.Fatalf("answered %d %s", a.status, a.code)
		}
	})
}

// repeatedName looks for a top-level name that is there twice, in another way
// than the receiver does.
func repeatedName(t *testing.T, text string) (string, bool) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	seen := map[string]bool{}
	if _, err := decoder.Token(); err != nil {
		t.Fatal(err)
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		name := token.(string)
		if seen[name] {
			return name, true
		}
		seen[name] = true
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return "", false
}
