package generated_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/design"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/shopspring/decimal"
)

func sampleOrder() events.OrderCreated {
	note := "Ring twice."
	return events.OrderCreated{
		OrderID: uuid.MustParse("0193f2a4-0000-7000-8000-00000000000f"), CustomerEmail: "somebody@example.org", Amount: decimal.New(12345, -2),
		PlacedAt: time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC),
		Items: []events.LineItem{
			{Sku: "A-1", Quantity: 1, UnitPrice: decimal.New(12345678901234567, -2)}, {Sku: "B-2", Quantity: 2, UnitPrice: decimal.New(100, -2)},
		},
		Labels: map[string]string{"a": "b", "c": "d"}, Channel: events.OrderCreatedChannelWeb, Discount: outbox.Some(decimal.New(1, 0)),
		Tags: []string{"new", "gift"}, Note: &note,
	}
}

func BenchmarkAppendCanonical(b *testing.B) {
	o := sampleOrder()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := o.AppendCanonical(nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMarshalUntyped is what encoding/json takes for the same value
// without the generated code, and without canonical form.
func BenchmarkMarshalUntyped(b *testing.B) {
	o := sampleOrder()
	body, err := o.AppendCanonical(nil)
	if err != nil {
		b.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(body, &tree); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(tree); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshalJSON(b *testing.B) {
	o := sampleOrder()
	body, err := o.AppendCanonical(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var back events.OrderCreated
		if err := back.UnmarshalJSON(body); err != nil {
			b.Fatal(err)
		}
	}
}
