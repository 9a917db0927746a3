package canonical_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/gowebpki/jcs"
	"github.com/outboxgen/outboxgen/runtime/canonical"
)

// event20 stands for a generated event type with 20 fields.
type event20 struct {
	Amount   string    `json:"amount"`
	Balance  int64     `json:"balance,string"`
	Channel  string    `json:"channel"`
	City     string    `json:"city"`
	Count    int64     `json:"count"`
	Country  string    `json:"country"`
	Customer string    `json:"customer_id"`
	Discount float64   `json:"discount"`
	Email    string    `json:"email"`
	Express  bool      `json:"express"`
	Gift     bool      `json:"gift"`
	Invoice  string    `json:"invoice"`
	Items    []item    `json:"items"`
	Note     string    `json:"note"`
	Order    string    `json:"order_id"`
	PlacedAt time.Time `json:"placed_at"`
	Quantity int64     `json:"quantity"`
	Street   string    `json:"street"`
	Tags     []string  `json:"tags"`
	Weight   float64   `json:"weight"`
}

type item struct {
	Price    string `json:"price"`
	Quantity int64  `json:"quantity"`
	SKU      string `json:"sku"`
}

// appendCanonical is what the generator writes for event20.
func (e *event20) appendCanonical(dst []byte) (_ []byte, err error) {
	text := func(name, value string) {
		if err == nil {
			dst = append(dst, name...)
			dst, err = canonical.AppendString(dst, value)
		}
	}
	integer := func(name string, value int64) {
		if err == nil {
			dst = append(dst, name...)
			dst, err = canonical.AppendInt(dst, value)
		}
	}
	number := func(name string, value float64) {
		if err == nil {
			dst = append(dst, name...)
			dst, err = canonical.AppendFloat(dst, value)
		}
	}
	text(`{"amount":`, e.Amount)
	dst = append(dst, `,"balance":`...)
	dst = canonical.AppendInt64(dst, e.Balance)
	text(`,"channel":`, e.Channel)
	text(`,"city":`, e.City)
	integer(`,"count":`, e.Count)
	text(`,"country":`, e.Country)
	text(`,"customer_id":`, e.Customer)
	number(`,"discount":`, e.Discount)
	text(`,"email":`, e.Email)
	dst = append(dst, `,"express":`...)
	dst = canonical.AppendBool(dst, e.Express)
	dst = append(dst, `,"gift":`...)
	dst = canonical.AppendBool(dst, e.Gift)
	text(`,"invoice":`, e.Invoice)
	dst = append(dst, `,"items":[`...)
	for i, it := range e.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		text(`{"price":`, it.Price)
		integer(`,"quantity":`, it.Quantity)
		text(`,"sku":`, it.SKU)
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	text(`,"note":`, e.Note)
	text(`,"order_id":`, e.Order)
	dst = append(dst, `,"placed_at":`...)
	if err == nil {
		dst, err = canonical.AppendTime(dst, e.PlacedAt)
	}
	integer(`,"quantity":`, e.Quantity)
	text(`,"street":`, e.Street)
	dst = append(dst, `,"tags":[`...)
	for i, tag := range e.Tags {
		if i > 0 {
			dst = append(dst, ',')
		}
		text("", tag)
	}
	dst = append(dst, ']')
	number(`,"weight":`, e.Weight)
	return append(dst, '}'), err
}

func sampleEvent() *event20 {
	return &event20{
		Amount: "129.90", Balance: 9007199254740993, Channel: "web", City: "Zürich", Count: 42, Country: "CH",
		Customer: "01932c07-0000-7000-8000-000000000002", Discount: 0.15, Email: "jane.doe@example.org", Express: true,
		Invoice: "2026-000123", Items: []item{{"12.50", 2, "A-1"}, {"104.90", 1, "B-2"}}, Note: "leave at the \"back\" door",
		Order: "01932c07-0000-7000-8000-000000000001", PlacedAt: time.Date(2026, 1, 31, 9, 30, 0, 120_000_000, time.UTC),
		Quantity: 3, Street: "Bahnhofstrasse 1", Tags: []string{"new", "vip"}, Weight: 1.25,
	}
}

func TestSampleEvent_IsCanonical(t *testing.T) {
	e := sampleEvent()
	got, err := e.appendCanonical(nil)
	if err != nil {
		t.Fatal(err)
	}
	viaJSON, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want, err := jcs.Transform(viaJSON)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got  %s\nwant %s, %v", got, want, err)
	}
}

func BenchmarkEvent20(b *testing.B) {
	e := sampleEvent()
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := e.appendCanonical(make([]byte, 0, 1024)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json.Marshal and jcs.Transform", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			text, err := json.Marshal(e)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := jcs.Transform(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	text, _ := json.Marshal(e)
	b.Run("Transform", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := canonical.Transform(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Object", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := canonical.Object(text, func(string, []byte) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkKey(b *testing.B) {
	body, _ := sampleEvent().appendCanonical(nil)
	for name, p := range map[string]canonical.Policy{
		"event":   {Mode: canonical.ByEvent},
		"payload": {Mode: canonical.ByPayload},
		"fields":  {Mode: canonical.ByFields, Fields: []string{"order_id"}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := canonical.Key("/services/orders", "order.created", p, "01932c07-0000-7000-8000-000000000001", body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
