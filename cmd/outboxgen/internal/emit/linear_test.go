package emit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/emittest"
)

// BenchmarkFiles generates ever larger specs: the time for each event must
// stay the same.
func BenchmarkFiles(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		text := bigSpec(n)
		b.Run(fmt.Sprintf("read/%d", n), func(b *testing.B) {
			for b.Loop() {
				emittest.LoadText(b, text)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/event")
		})
		s := emittest.LoadText(b, text)
		b.Run(fmt.Sprintf("emit/%d", n), func(b *testing.B) {
			for b.Loop() {
				emittest.Files(b, s)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/event")
		})
	}
}

// TestFiles_GrowWithTheSpec: twice the events make twice the output, and
// nothing of one event depends on how many there are.
func TestFiles_GrowWithTheSpec(t *testing.T) {
	size := func(n int) (total int) {
		for _, f := range emittest.Files(t, emittest.LoadText(t, bigSpec(n))) {
			if strings.HasSuffix(f.Name, ".go") {
				total += len(f.Content)
			}
		}
		return total
	}
	small, large := size(100), size(200)
	if ratio := float64(large) / float64(small); ratio < 1.8 || ratio > 2.2 {
		t.Errorf("100 events make %d bytes and 200 make %d", small, large)
	}
}
