package outboxtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/outboxtest"
)

// transaction stands for a driver's.
type transaction struct{ _ int }

var orders = &outbox.Definition{
	Source: "/services/orders", Type: "order.created", Version: 1,
	Idempotency: canonical.Policy{Mode: canonical.ByFields, Fields: []string{"order_id"}},
	Routes:      []outbox.Route{{Destination: "billing"}},
}

type orderCreated struct {
	OrderID string `json:"order_id"`
}

func TestRecorder_TellsTransactionsApart(t *testing.T) {
	recorder := outboxtest.NewRecorder[*transaction](nil)
	one, two := new(transaction), new(transaction)
	for _, c := range []struct {
		tx   *transaction
		body string
	}{{one, `{"order_id":"a"}`}, {two, `{"order_id":"b"}`}, {one, `{"order_id":"c"}`}} {
		if _, err := outbox.InsertEvent(t.Context(), recorder, c.tx, orders, "", []byte(c.body)); err != nil {
			t.Fatal(err)
		}
	}
	got := outboxtest.Events[orderCreated](t, recorder.Emitted(one), "order.created")
	if len(got) != 2 || got[0].OrderID != "a" || got[1].OrderID != "c" {
		t.Errorf("the first transaction emitted %v", got)
	}
	if got := outboxtest.Events[orderCreated](t, recorder.Emitted(one), "order.shipped"); got != nil {
		t.Errorf("of another type it emitted %v", got)
	}
	if all := recorder.All(); len(all) != 3 || string(all[1].Payload) != `{"order_id":"b"}` {
		t.Errorf("all are %v", all)
	}
}

func TestRecorder_KeepsItsOwnBytes(t *testing.T) {
	recorder := outboxtest.NewRecorder[*transaction](nil)
	tx, body := new(transaction), []byte(`{"order_id":"a"}`)
	if _, err := outbox.InsertEvent(t.Context(), recorder, tx, orders, "", body); err != nil {
		t.Fatal(err)
	}
	copy(body, "################")
	if got := string(recorder.Emitted(tx)[0].Payload); got != `{"order_id":"a"}` {
		t.Errorf("the record changed with the caller's bytes: %s", got)
	}
}

func TestRecorder_AnswersDuplicatesLikeAStore(t *testing.T) {
	recorder := outboxtest.NewRecorder[*transaction](nil)
	tx := new(transaction)
	insert := func(def *outbox.Definition, body string) (outbox.Receipt, error) {
		return outbox.InsertEvent(t.Context(), recorder, tx, def, "", []byte(body))
	}
	first, err := insert(orders, `{"order_id":"a"}`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = insert(orders, `{"n":1,"order_id":"a"}`)
	duplicate, ok := errors.AsType[*outbox.DuplicateError](err)
	if !ok || duplicate.ID != first.ID || !duplicate.PayloadDiffers {
		t.Errorf("the second insert answered %v", err)
	}
	lenient := *orders
	lenient.IgnoreDuplicate = true
	receipt, err := insert(&lenient, `{"order_id":"a"}`)
	if err != nil || !receipt.Duplicate || receipt.PayloadDiffers || receipt.ID != first.ID {
		t.Errorf("an ignored duplicate answered %+v, %v", receipt, err)
	}
	if n := len(recorder.Emitted(tx)); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
}

func TestRecorder_BatchIsAllOrNothing(t *testing.T) {
	recorder := outboxtest.NewRecorder[*transaction](nil)
	tx := new(transaction)
	draft := func(body string) outbox.Draft { return outbox.Draft{Payload: []byte(body)} }
	_, err := outbox.InsertEvents(t.Context(), recorder, tx, orders,
		[]outbox.Draft{draft(`{"order_id":"a"}`), draft(`{"order_id":"b"}`), draft(`{"order_id":"a"}`)})
	batch, ok := errors.AsType[*outbox.BatchError](err)
	if !ok || batch.Index != 2 || !errors.Is(err, outbox.ErrDuplicate) {
		t.Errorf("the batch answered %v, want a duplicate at 2", err)
	}
	if n := len(recorder.All()); n != 0 {
		t.Errorf("%d records of a failed batch", n)
	}
	receipts, err := outbox.InsertEvents(t.Context(), recorder, tx, orders,
		[]outbox.Draft{draft(`{"order_id":"a"}`), draft(`{"order_id":"b"}`)})
	if err != nil || len(receipts) != 2 || receipts[0].ID == receipts[1].ID {
		t.Errorf("the batch answered %v, %v", receipts, err)
	}
}

// refusing is a store that takes nothing.
type refusing struct{ err error }

func (s refusing) Insert(context.Context, *transaction, outbox.Record) (outbox.Receipt, error) {
	return outbox.Receipt{}, s.err
}

func (s refusing) InsertBatch(context.Context, *transaction, []outbox.Record) ([]outbox.Receipt, error) {
	return nil, s.err
}

func TestRecorder_InFrontOfAStoreRecordsWhatItTook(t *testing.T) {
	store := outboxtest.NewRecorder[*transaction](nil) // a store in its own right
	recorder := outboxtest.NewRecorder[*transaction](store)
	tx := new(transaction)
	bodies := []outbox.Draft{{Payload: []byte(`{"order_id":"a"}`)}, {Payload: []byte(`{"order_id":"b"}`)}}
	if _, err := outbox.InsertEvents(t.Context(), recorder, tx, orders, bodies); err != nil {
		t.Fatal(err)
	}
	if _, err := outbox.InsertEvent(t.Context(), recorder, tx, orders, "", bodies[0].Payload); !errors.Is(err, outbox.ErrDuplicate) {
		t.Errorf("the store's answer did not come through: %v", err)
	}
	if a, b := len(recorder.Emitted(tx)), len(store.Emitted(tx)); a != 2 || b != 2 {
		t.Errorf("%d recorded, %d stored; want 2 and 2", a, b)
	}

	fault := errors.New("disk full")
	recorder = outboxtest.NewRecorder[*transaction](refusing{fault})
	if _, err := outbox.InsertEvent(t.Context(), recorder, tx, orders, "", bodies[0].Payload); !errors.Is(err, fault) {
		t.Errorf("insert: %v", err)
	}
	if _, err := outbox.InsertEvents(t.Context(), recorder, tx, orders, bodies); !errors.Is(err, fault) {
		t.Errorf("batch: %v", err)
	}
	if n := len(recorder.All()); n != 0 {
		t.Errorf("%d records of a store that took none", n)
	}
}

// strict refuses what it does not know, like generated types.
type strict struct{}

func (*strict) UnmarshalJSON([]byte) error { return errors.New("field amount is missing") }

// fatal catches Fatalf instead of ending the test.
type fatal struct {
	testing.TB
	said string
}

func (f *fatal) Helper() {}
func (f *fatal) Fatalf(format string, args ...any) {
	f.said = format
	panic(f)
}

func TestEvents_FailsTheTestWhenARecordDoesNotDecode(t *testing.T) {
	var _ json.Unmarshaler = (*strict)(nil)
	tb := &fatal{TB: t}
	defer func() {
		if recover() != tb || tb.said == "" {
			t.Error("a record that does not decode passed")
		}
	}()
	outboxtest.Events[strict](tb, []outbox.Record{{Type: "order.created", Payload: []byte(`{}`)}}, "order.created")
}
