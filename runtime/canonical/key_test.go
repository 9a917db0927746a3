package canonical_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/outboxgen/outboxgen/runtime/canonical"
)

func TestKey(t *testing.T) {
	const (
		source = "/services/orders"
		kind   = "order.created"
		id     = "01932c07-0000-7000-8000-000000000001"
		body   = `{"amount":"12.50","note":null,"order_id":"o-1","tags":[1,2],"😀":2,"` + "\ufb33" + `":1}`
	)
	for _, c := range []struct {
		name   string
		policy canonical.Policy
		hashed map[string]any // besides source and type
		want   string         // typed in, so that no change of all code at once goes unseen
	}{
		{"event", canonical.Policy{Mode: canonical.ByEvent}, map[string]any{"event": id},
			"d4ebedb01680abfeec7d4b289cf7beaea793389e442f6c74539e1d408d7e8afc"},
		{"payload", canonical.Policy{Mode: canonical.ByPayload}, map[string]any{"payload": json.RawMessage(body)},
			"0547cb99a5f72c0ad7c24eabe102781db0682089de791ae9b35b116a16841f8e"},
		{"fields in any order", canonical.Policy{Mode: canonical.ByFields, Fields: []string{"order_id", "amount"}},
			map[string]any{"fields": json.RawMessage(`{"order_id":"o-1","amount":"12.50"}`)},
			"2c852195f1742bc68e2901f6adc7a1593923fb2b472cd6e8b8e7f9cf16f9ffe2"},
		{"absent fields are left out, null ones are not", canonical.Policy{Mode: canonical.ByFields, Fields: []string{"note", "absent"}},
			map[string]any{"fields": json.RawMessage(`{"note":null}`)},
			"335477d2e71adaa90aa74ecde84cb0019f91453ab72e2c59ecb84adc006b83d3"},
		{"all fields absent", canonical.Policy{Mode: canonical.ByFields, Fields: []string{"absent"}},
			map[string]any{"fields": json.RawMessage(`{}`)},
			"57cc39ba088e96e86408f1c6f3188ead03cd01c0a50678a3c32561e656d863c1"},
		{"fields in UTF-16 order", canonical.Policy{Mode: canonical.ByFields, Fields: []string{"\ufb33", "😀"}},
			map[string]any{"fields": json.RawMessage(`{"😀":2,"\ufb33":1}`)},
			"54738de6be5330a66ab85136ed9919f0708ac00746093e093ce690cba0508cc9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := canonical.Key(source, kind, c.policy, id, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			c.hashed["source"], c.hashed["type"] = source, kind
			text, err := json.Marshal(c.hashed)
			if err != nil {
				t.Fatal(err)
			}
			// The reference canonicalises the whole; ours must come to the same,
			// since the body is canonical already.
			text, err = jcs.Transform(text)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(text)
			if want := hex.EncodeToString(sum[:]); got != want || got != c.want {
				t.Errorf("got %s, want %s and %s for %s", got, want, c.want, text)
			}
		})
	}
}

func TestKey_TakesBytesAsTheyStand(t *testing.T) {
	byAmount := canonical.Policy{Mode: canonical.ByFields, Fields: []string{"amount"}}
	key := func(body string) string {
		k, err := canonical.Key("/s", "t", byAmount, "", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	if key(`{"amount":1.0}`) == key(`{"amount":1}`) {
		t.Error("a value was encoded again")
	}
	if key(`{"amount":1,"x":2}`) != key(` { "x":3, "\u0061mount" : 1 } `) {
		t.Error("other members, blanks between members or the spelling of a name changed the key")
	}
	// Case W-02.
	if key(`{"amount":"9007199254740992"}`) == key(`{"amount":"9007199254740993"}`) {
		t.Error("two integers have one key")
	}
}

func TestKey_SeparatesSourceTypeAndBody(t *testing.T) {
	byPayload := canonical.Policy{Mode: canonical.ByPayload}
	byEvent := canonical.Policy{Mode: canonical.ByEvent}
	seen := map[string]string{}
	for name, in := range map[string]struct {
		source, kind, id, body string
		p                      canonical.Policy
	}{
		"a": {"/s", "t", "", `"x"`, byPayload},
		"b": {"/s", "t", "x", ``, byEvent},
		"c": {"/st", "", "x", ``, byEvent},
		"d": {"/", "st", "x", ``, byEvent},
		"e": {`/s","type":"t`, "t", "x", ``, byEvent},
		"f": {"/s", "t\x00", "x", ``, byEvent},
	} {
		k, err := canonical.Key(in.source, in.kind, in.p, in.id, []byte(in.body))
		if err != nil || len(k) != 64 || strings.ToLower(k) != k {
			t.Errorf("%s: %q, %v", name, k, err)
		}
		if other, twice := seen[k]; twice {
			t.Errorf("%s and %s have one key", name, other)
		}
		seen[k] = name
	}
}

func TestKey_Refuses(t *testing.T) {
	fields := canonical.Policy{Mode: canonical.ByFields, Fields: []string{"a"}}
	for want, in := range map[string]struct {
		source, kind, id, body string
		p                      canonical.Policy
	}{
		"idempotency key: unknown mode 0":                  {p: canonical.Policy{}},
		"idempotency key by event: the event has no id":    {p: canonical.Policy{Mode: canonical.ByEvent}},
		"idempotency key by payload: the payload is empty": {p: canonical.Policy{Mode: canonical.ByPayload}},
		"idempotency key by fields: the policy names none": {p: canonical.Policy{Mode: canonical.ByFields}, body: `{}`},
		"an array where an object is expected":             {p: fields, body: `[]`},
		`duplicate member name "a" at byte 7`:              {p: fields, body: `{"a":1,"a":2}`},
		"source: invalid UTF-8 at byte 1":                  {source: "s\xff", p: fields, body: `{}`},
		"type: invalid UTF-8 at byte 0":                    {kind: "\xff", p: fields, body: `{}`},
		"id: invalid UTF-8 at byte 0":                      {id: "\xff", p: canonical.Policy{Mode: canonical.ByEvent}},
	} {
		k, err := canonical.Key(in.source, in.kind, in.p, in.id, []byte(in.body))
		if err == nil || err.Error() != want || k != "" {
			t.Errorf("got %q, %v; want the error %q", k, err, want)
		}
	}
}

func TestKey_AllocatesLittle(t *testing.T) {
	body := []byte(`{"amount":"12.50","order_id":"01932c07-0000-7000-8000-000000000001"}`)
	for _, p := range []canonical.Policy{
		{Mode: canonical.ByEvent}, {Mode: canonical.ByPayload}, {Mode: canonical.ByFields, Fields: []string{"order_id"}},
	} {
		n := testing.AllocsPerRun(100, func() {
			if _, err := canonical.Key("/services/orders", "order.created", p, "01932c07-0000-7000-8000-000000000001", body); err != nil {
				t.Fatal(err)
			}
		})
		if n > 5 {
			t.Errorf("mode %d: %v allocations", p.Mode, n)
		}
		t.Logf("mode %d: %v allocations", p.Mode, n)
	}
}
