package inbox_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/inbox"
)

// What the receiver itself costs, signature and key included, on a store that
// costs next to nothing.
func BenchmarkReceiver(b *testing.B) {
	quiet := func(cfg *inbox.Config) { cfg.Logger = nil }
	serve := func(b *testing.B, c *consumer, req *http.Request) {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			b.Fatalf("answered %d %s", w.Code, w.Body)
		}
	}
	b.Run("applied", func(b *testing.B) {
		c := newConsumer(b, quiet)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			req := c.signed(b, orderCreated(strconv.Itoa(i)))
			b.StartTimer()
			serve(b, c, req)
		}
	})
	b.Run("duplicate", func(b *testing.B) {
		c := newConsumer(b, quiet)
		d := orderCreated("o-1")
		req := c.signed(b, d)
		serve(b, c, req)
		b.ReportAllocs()
		for b.Loop() {
			withBody(req, d.body)
			serve(b, c, req)
		}
	})
}
