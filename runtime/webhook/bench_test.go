package webhook

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// BenchmarkSend compares an attempt with a bare http.Client that sends the
// same request.
func BenchmarkSend(b *testing.B) {
	server := serve(b, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	c := config(server.URL)
	c.Secrets = []string{testSecret}
	s := open(b, c)
	d := delivery()
	b.Run("sender", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if o := s.Send(b.Context(), d); o.Result != outbox.Delivered {
				b.Fatal(o.Failure)
			}
		}
	})
	header, err := s.header(d, s.now())
	if err != nil {
		b.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	b.Run("bare client", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL, bytes.NewReader(d.Payload))
			if err != nil {
				b.Fatal(err)
			}
			req.Header = header
			resp, err := client.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
	b.Run("headers and signature alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.header(d, s.now()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
