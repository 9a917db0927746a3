package generated_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/everything"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/own"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/own/ship"
	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
	"github.com/outboxgen/outboxgen/runtime/webhook"
	"github.com/shopspring/decimal"
)

// capture is a store that keeps what is inserted.
type capture struct{ records []outbox.Record }

type noTx struct{}

func (c *capture) Insert(_ context.Context, _ noTx, rec outbox.Record) (outbox.Receipt, error) {
	c.records = append(c.records, rec)
	return outbox.Receipt{ID: rec.ID, IdempotencyKey: rec.IdempotencyKey}, nil
}

func (c *capture) InsertBatch(ctx context.Context, tx noTx, recs []outbox.Record) ([]outbox.Receipt, error) {
	var receipts []outbox.Receipt
	for _, rec := range recs {
		r, _ := c.Insert(ctx, tx, rec)
		receipts = append(receipts, r)
	}
	return receipts, nil
}

func TestInsert_HandsOnWhatTheSpecSays(t *testing.T) {
	store := &capture{}
	out := everything.New(store)
	ctx := t.Context()
	n := int64(-5)
	id := uuid.MustParse("0193f2a4-0000-7000-8000-00000000000f")
	red := everything.ColourRed
	inserts := []func() (outbox.Receipt, error){
		func() (outbox.Receipt, error) { return out.InsertKeyText(ctx, noTx{}, everything.KeyText{K: "a b"}) },
		func() (outbox.Receipt, error) { return out.InsertKeyInt(ctx, noTx{}, everything.KeyInt{K: 7}) },
		func() (outbox.Receipt, error) { return out.InsertKeyInt64(ctx, noTx{}, everything.KeyInt64{K: &n}) },
		func() (outbox.Receipt, error) { return out.InsertKeyInt64(ctx, noTx{}, everything.KeyInt64{}) },
		func() (outbox.Receipt, error) {
			return out.InsertKeyUUID(ctx, noTx{}, everything.KeyUUID{K: outbox.Some(id)})
		},
		func() (outbox.Receipt, error) {
			return out.InsertKeyUUID(ctx, noTx{}, everything.KeyUUID{K: outbox.Null[uuid.UUID]()})
		},
		func() (outbox.Receipt, error) { return out.InsertKeyColour(ctx, noTx{}, everything.KeyColour{K: &red}) },
		func() (outbox.Receipt, error) { return out.InsertKeyBool(ctx, noTx{}, everything.KeyBool{K: true}) },
		func() (outbox.Receipt, error) {
			return out.InsertKeyDate(ctx, noTx{}, everything.KeyDate{K: outbox.Date{Year: 2026, Month: 1, Day: 31}})
		},
		func() (outbox.Receipt, error) {
			return out.InsertKeyTime(ctx, noTx{}, everything.KeyTime{K: time.Date(2026, 1, 31, 1, 0, 0, 5e8, time.FixedZone("", 3600))})
		},
		func() (outbox.Receipt, error) {
			return out.InsertKeyDuration(ctx, noTx{}, everything.KeyDuration{K: outbox.Some(90 * time.Second)})
		},
		func() (outbox.Receipt, error) {
			return out.InsertKeyDecimal(ctx, noTx{}, everything.KeyDecimal{K: decimal.New(150, -2)})
		},
		func() (outbox.Receipt, error) {
			return out.InsertKeyOptionalDecimal(ctx, noTx{}, everything.KeyOptionalDecimal{})
		},
		func() (outbox.Receipt, error) {
			return out.InsertKeyBytes(ctx, noTx{}, everything.KeyBytes{K: []byte{0xFF}})
		},
		func() (outbox.Receipt, error) { return out.InsertVersionsV1(ctx, noTx{}, everything.VersionsV1{A: 1}) },
		func() (outbox.Receipt, error) { return out.InsertNowhere(ctx, noTx{}, everything.Nowhere{}) },
	}
	for _, insert := range inserts {
		if _, err := insert(); err != nil {
			t.Fatal(err)
		}
	}
	var have []string
	for _, r := range store.records {
		have = append(have, fmt.Sprintf("%s@%d %q %s %v %v", r.Type, r.Version, r.OrderingKey, r.Payload, r.IgnoreDuplicate, r.Routes))
	}
	want := []string{
		`key.text@1 "a b" {"k":"a b"} false [{hook false}]`,
		`key.int@1 "7" {"k":7} true [{hook true}]`,
		`key.int64@1 "-5" {"k":"-5"} false [{hook false}]`,
		`key.int64@1 "" {} false [{hook false}]`,
		`key.uuid@1 "0193f2a4-0000-7000-8000-00000000000f" {"k":"0193f2a4-0000-7000-8000-00000000000f"} false [{hook false}]`,
		`key.uuid@1 "" {"k":null} false [{hook false}]`,
		`key.colour@1 "red" {"k":"red"} false [{hook false}]`,
		`key.bool@1 "true" {"k":true} false [{hook false}]`,
		`key.date@1 "2026-01-31" {"k":"2026-01-31"} false [{hook false}]`,
		`key.time@1 "2026-01-31T00:00:00.5Z" {"k":"2026-01-31T00:00:00.5Z"} false [{hook false}]`,
		`key.duration@1 "1m30s" {"k":"1m30s"} false [{hook false}]`,
		`key.decimal@1 "1.5" {"k":"1.5"} false [{hook false}]`,
		`key.optional_decimal@1 "" {} false [{hook false}]`,
		`key.bytes@1 "/w==" {"k":"/w=="} false [{hook false}]`,
		`versions@1 "" {"a":1} false [{local false} {hook false}]`,
		`nowhere@1 "" {"a":0} false []`,
	}
	if !slices.Equal(have, want) {
		t.Errorf("have\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	for i, p := range map[int]canonical.Policy{
		0: {Mode: canonical.ByFields, Fields: []string{"k"}},
		1: {Mode: canonical.ByPayload},
		2: {Mode: canonical.ByEvent},
	} {
		r := store.records[i]
		key, err := canonical.Key("/tests/everything", r.Type, p, r.ID.String(), r.Payload)
		if err != nil || key != r.IdempotencyKey {
			t.Errorf("%s: key %s, want %s, %v", r.Type, r.IdempotencyKey, key, err)
		}
	}
}

func TestInsert_OfAnInvalidEventWritesNothing(t *testing.T) {
	store := &capture{}
	out := everything.New(store)
	_, err := out.InsertKeyText(t.Context(), noTx{}, everything.KeyText{K: "\xFF"})
	if err == nil || err.Error() != "insert key.text: k: invalid UTF-8 at byte 0" {
		t.Error(err)
	}
	_, err = out.InsertKeyTextBatch(t.Context(), noTx{}, []everything.KeyText{{K: "a"}, {K: "\xFF"}})
	var batch *outbox.BatchError
	if !errors.As(err, &batch) || batch.Index != 1 {
		t.Error(err)
	}
	if len(store.records) > 0 {
		t.Errorf("%d records were written", len(store.records))
	}
	receipts, err := out.InsertKeyTextBatch(t.Context(), noTx{}, []everything.KeyText{{K: "a"}, {K: "b"}})
	if err != nil || len(receipts) != 2 || store.records[1].OrderingKey != "b" || receipts[1].ID != store.records[1].ID {
		t.Errorf("%v, %v", receipts, err)
	}
}

func TestInsert_OrderingKeyOfAnOwnType(t *testing.T) {
	store := &capture{}
	out := own.New(store)
	cents := ship.Cents(12)
	if _, err := out.InsertKeyed(t.Context(), noTx{}, own.Keyed{Cents: &cents}); err != nil {
		t.Fatal(err)
	}
	if r := store.records[0]; r.OrderingKey != "12" || string(r.Payload) != `{"cents":12}` {
		t.Errorf("%q %s", r.OrderingKey, r.Payload)
	}
}

// local is a handler of which only some methods are called.
type local struct {
	everything.LocalHandler
	calls chan any
}

func (l local) Versions(_ context.Context, e everything.Versions, d *outbox.Delivery) error {
	l.calls <- fmt.Sprintf("%s@%d %d", d.Type, d.Version, e.A)
	return nil
}

func (l local) VersionsV1(_ context.Context, e everything.VersionsV1, d *outbox.Delivery) error {
	l.calls <- fmt.Sprintf("%s@%d %d", d.Type, d.Version, e.A)
	return nil
}

func (l local) TreesGrown(_ context.Context, e everything.TreesGrown, d *outbox.Delivery) error {
	l.calls <- e
	return nil
}

func (l local) Publish(_ context.Context, d *outbox.Delivery) error {
	l.calls <- "published " + d.Type
	return nil
}

type remote struct {
	everything.HookReceiver[*inbox.MemoryTx]
	calls chan any
}

func (r remote) TreesGrown(_ context.Context, _ *inbox.MemoryTx, e everything.TreesGrown, m inbox.Message) error {
	r.calls <- e
	return nil
}

func (r remote) Versions(_ context.Context, _ *inbox.MemoryTx, e everything.Versions, m inbox.Message) error {
	r.calls <- fmt.Sprintf("applied %s@%d %d", m.Type, m.Version, e.A)
	return nil
}

func (r remote) VersionsV1(_ context.Context, _ *inbox.MemoryTx, e everything.VersionsV1, m inbox.Message) error {
	r.calls <- fmt.Sprintf("applied %s@%d %d", m.Type, m.Version, e.A)
	return nil
}

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func openStore(t *testing.T) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// runDispatcher runs d until the test ends.
func runDispatcher(t *testing.T, d *outbox.Dispatcher) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestDispatcher_ReachesEveryKindOfDestination: one store, one dispatcher; a
// handler, a publisher and a webhook with its receiver.
func TestDispatcher_ReachesEveryKindOfDestination(t *testing.T) {
	store := openStore(t)
	calls := make(chan any, 100)
	t.Setenv("HOOK_SECRET", secret)
	receiver, err := everything.NewHookReceiver(inbox.NewMemory(nil), remote{calls: calls}, inbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(receiver)
	t.Cleanup(server.Close)

	handler := local{calls: calls}
	d, err := everything.NewDispatcher(store, handler, handler, struct{}{},
		everything.WithHook(webhook.Config{URL: server.URL, Allow: []string{"127.0.0.0/8"}}))
	if err != nil {
		t.Fatal(err)
	}

	tree := everything.TreesGrown{Root: everything.Node{
		Name: "root", Children: []everything.Node{{Name: "child", Children: []everything.Node{}, ByName: map[string]everything.Node{}}},
		ByName: map[string]everything.Node{}, Parent: &everything.Node{Children: []everything.Node{}, ByName: map[string]everything.Node{}},
		Other: outbox.Null[*everything.Node](), Leaves: []everything.Leaf{{Colour: everything.ColourNone}},
	}}
	out := everything.New(store)
	err = store.InTx(t.Context(), func(tx *sql.Tx) error {
		_, err1 := out.InsertTreesGrown(t.Context(), tx, tree)
		_, err2 := out.InsertVersions(t.Context(), tx, everything.Versions{A: 3})
		_, err3 := out.InsertVersionsV1(t.Context(), tx, everything.VersionsV1{A: 1})
		// What this process's handler does not know, and what it cannot decode.
		unknown := outbox.Definition{Source: "/x", Type: "versions", Version: 2, Idempotency: canonical.Policy{Mode: canonical.ByEvent}, Routes: []outbox.Route{{Destination: "local"}}}
		_, err4 := outbox.InsertEvent(t.Context(), store, tx, &unknown, "", []byte(`{}`))
		unknown.Version = 3
		_, err5 := outbox.InsertEvent(t.Context(), store, tx, &unknown, "", []byte(`{"b":1}`))
		return errors.Join(err1, err2, err3, err4, err5)
	})
	if err != nil {
		t.Fatal(err)
	}
	runDispatcher(t, d)

	want := map[string]int{
		"versions@3 3": 1, "versions@1 1": 1, "published trees.grown": 1, "applied versions@3 3": 1, "applied versions@1 1": 1, "tree": 2,
	}
	for n := 7; n > 0; n-- {
		var call any
		select {
		case call = <-calls:
		case <-time.After(30 * time.Second):
			t.Fatalf("still waiting for %v", want)
		}
		name := fmt.Sprint(call)
		if e, ok := call.(everything.TreesGrown); ok {
			name = "tree"
			if !reflect.DeepEqual(e, tree) {
				t.Errorf("have %+v\nwant %+v", e, tree)
			}
		}
		if want[name]--; want[name] < 0 {
			t.Errorf("unexpected: %s", name)
		}
	}
	waitFor(t, "one unknown event waiting and one undecodable dead letter", func() bool {
		dead, err := store.DeadLetters(t.Context(), outbox.DeadLetterFilter{})
		if err != nil {
			t.Fatal(err)
		}
		return len(dead) == 1 && dead[0].Kind == outbox.FailureUndecodable && strings.Contains(dead[0].Reason, "a: is missing")
	})
	states, err := store.Destinations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states {
		if s.Destination == "local" && (s.Pending+s.Processing != 1 || s.DeadLetters != 1) {
			t.Errorf("%+v", s)
		}
	}
}

func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		<-ticker.C
	}
}

func TestNewDispatcher_NamesEveryFault(t *testing.T) {
	store := openStore(t)
	_, err := everything.NewDispatcher(store, nil, nil, nil)
	for _, want := range []string{"destination local: the handler is nil", "broker", "destination idle: the handler is nil", "HOOK_URL", "HOOK_SECRET"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

func TestNewReceiver_NamesEveryFault(t *testing.T) {
	_, err := everything.NewHookReceiver(inbox.NewMemory(nil), nil, inbox.Config{})
	if err == nil || err.Error() != "receiver hook: the HookReceiver is nil" {
		t.Error(err)
	}
	_, err = everything.NewHookReceiver(inbox.NewMemory(nil), remote{}, inbox.Config{})
	if err == nil || !strings.Contains(err.Error(), "HOOK_SECRET") {
		t.Error(err)
	}
}
