package spec

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkLoad shows that the time grows with the spec and no faster.
func BenchmarkLoad(b *testing.B) {
	for _, events := range []int{100, 1000, 5000} {
		var text strings.Builder
		text.WriteString("version: 1\npackage: events\nsource: /shop\ntypes:\n  Item: {fields: {sku: string, count: {type: int, min: 1}}}\nevents:\n")
		for i := range events {
			fmt.Fprintf(&text, "  event%d.happened:\n    to: []\n    idempotency: [id]\n    ordering_key: id\n    fields: {id: uuid, items: [Item], note: \"string?\", channel: {enum: [web, phone]}}\n", i)
		}
		spec := []byte(text.String())
		b.Run(fmt.Sprint(events), func(b *testing.B) {
			for b.Loop() {
				if s, diagnostics := Load("events.yaml", func(string) ([]byte, error) { return spec, nil }); s == nil {
					b.Fatal(diagnostics)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(events), "µs/event")
		})
	}
}
