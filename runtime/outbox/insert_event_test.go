package outbox

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/runtime/canonical"
)

// sink is an Inserter that keeps its records.
type sink struct {
	recs []Record
	fail error
}

func (s *sink) Insert(_ context.Context, _ string, rec Record) (Receipt, error) {
	if s.fail != nil {
		return Receipt{}, s.fail
	}
	s.recs = append(s.recs, rec)
	return Receipt{ID: rec.ID, IdempotencyKey: rec.IdempotencyKey}, nil
}

func (s *sink) InsertBatch(ctx context.Context, tx string, recs []Record) ([]Receipt, error) {
	var out []Receipt
	for i, rec := range recs {
		if s.fail != nil && i == len(recs)-1 {
			return nil, &BatchError{Index: i, Err: s.fail}
		}
		r, _ := (&sink{}).Insert(ctx, tx, rec)
		out = append(out, r)
	}
	s.recs = append(s.recs, recs...)
	return out, nil
}

func TestInsertEvent_MakesIDKeyAndTrace(t *testing.T) {
	def := &Definition{
		Source: "/shop", Type: "order.created", Version: 2, IgnoreDuplicate: true,
		Idempotency: canonical.Policy{Mode: canonical.ByFields, Fields: []string{"order_id"}},
		Routes:      []Route{{Destination: "billing", Hold: true}},
	}
	trace := Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=b"}
	s := &sink{}
	payload := []byte(`{"order_id":"o-1","total":"9.90"}`)
	receipt, err := InsertEvent(ContextWithTrace(t.Context(), trace), s, "tx", def, "o-1", payload)
	if err != nil {
		t.Fatal(err)
	}
	rec := s.recs[0]
	if rec.ID.Version() != 7 || receipt.ID != rec.ID {
		t.Errorf("id %v (version %d), receipt %v", rec.ID, rec.ID.Version(), receipt.ID)
	}
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(rec.IdempotencyKey) {
		t.Errorf("key %q", rec.IdempotencyKey)
	}
	want, err := canonical.Key("/shop", "order.created", def.Idempotency, rec.ID.String(), payload)
	if err != nil || rec.IdempotencyKey != want {
		t.Errorf("key %s, want %s (%v)", rec.IdempotencyKey, want, err)
	}
	if rec.Trace != trace || rec.Type != def.Type || rec.Version != 2 || rec.OrderingKey != "o-1" || !rec.IgnoreDuplicate ||
		string(rec.Payload) != string(payload) || !slices.Equal(rec.Routes, def.Routes) {
		t.Errorf("record %+v", rec)
	}
	if _, err := InsertEvent(t.Context(), s, "tx", def, "", payload); err != nil || s.recs[1].Trace != (Trace{}) {
		t.Errorf("without a trace: %v, %+v", err, s.recs[1].Trace)
	}
	if s.recs[0].ID.String() >= s.recs[1].ID.String() {
		t.Error("ids do not grow")
	}
}

func TestInsertEvent_ErrorsNameTypeAndID(t *testing.T) {
	boom := errors.New("disk full")
	def := &Definition{Source: "/shop", Type: "order.created", Idempotency: canonical.Policy{Mode: canonical.ByEvent}}
	_, err := InsertEvent(t.Context(), &sink{fail: boom}, "tx", def, "", []byte(`{}`))
	if !errors.Is(err, boom) || !regexp.MustCompile(`^outbox: insert order\.created [0-9a-f-]{36}: disk full$`).MatchString(err.Error()) {
		t.Errorf("error %q", err)
	}
	dup := &DuplicateError{ID: uuid.New(), Type: "order.created"}
	_, err = InsertEvent(t.Context(), &sink{fail: dup}, "tx", def, "", []byte(`{}`))
	if err != error(dup) || !errors.Is(err, ErrDuplicate) {
		t.Errorf("error %v, want the *DuplicateError as it is", err)
	}
	def.Idempotency = canonical.Policy{Mode: canonical.ByFields, Fields: []string{"id"}}
	if _, err = InsertEvent(t.Context(), &sink{}, "tx", def, "", []byte(`[]`)); err == nil || !strings.Contains(err.Error(), "order.created") {
		t.Errorf("a body that is no object: %v", err)
	}
}

func TestInsertEvents_IsAllOrNothingWithTheIndexOfTheFault(t *testing.T) {
	boom := errors.New("disk full")
	def := &Definition{Source: "/shop", Type: "order.created", Idempotency: canonical.Policy{Mode: canonical.ByPayload}}
	drafts := []Draft{{Payload: []byte(`{"n":1}`)}, {Payload: []byte(`{"n":2}`), OrderingKey: "k"}}
	s := &sink{}
	receipts, err := InsertEvents(t.Context(), s, "tx", def, drafts)
	if err != nil || len(receipts) != 2 || receipts[1].ID != s.recs[1].ID || s.recs[1].OrderingKey != "k" {
		t.Errorf("%v, %v", receipts, err)
	}
	if receipts, err := InsertEvents(t.Context(), s, "tx", def, nil); err != nil || receipts != nil {
		t.Errorf("no drafts: %v, %v", receipts, err)
	}
	s = &sink{fail: boom}
	_, err = InsertEvents(t.Context(), s, "tx", def, drafts)
	if batch, ok := errors.AsType[*BatchError](err); !ok || batch.Index != 1 || !errors.Is(err, boom) || !strings.Contains(err.Error(), "order.created") {
		t.Errorf("error %v", err)
	}
	drafts[0].Payload = []byte(`{"n":1`)
	_, err = InsertEvents(t.Context(), &sink{}, "tx", &Definition{Type: "x", Idempotency: canonical.Policy{Mode: canonical.ByFields, Fields: []string{"n"}}}, drafts)
	if batch, ok := errors.AsType[*BatchError](err); !ok || batch.Index != 0 {
		t.Errorf("error %v", err)
	}
}
