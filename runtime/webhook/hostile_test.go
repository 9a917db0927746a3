package webhook

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// What hostile servers do is bounded in memory (by what the sender takes from
// the connection, which has no buffer of its own) and in time (by synctest's
// clock), and classed rightly.
func TestSend_HostileServers(t *testing.T) {
	const (
		timeout = 10 * time.Second
		buffers = 16 << 10 // of net/http's readers
	)
	endless := func(conn net.Conn, head, body string) {
		if _, err := io.WriteString(conn, head); err != nil {
			return
		}
		chunk := []byte(strings.Repeat(body, 4096/len(body)))
		for {
			if _, err := conn.Write(chunk); err != nil {
				return
			}
		}
	}
	drip := func(conn net.Conn, head string) {
		_, err := io.WriteString(conn, head)
		for err == nil {
			time.Sleep(time.Second)
			_, err = io.WriteString(conn, "x")
		}
	}
	silence := func(conn net.Conn, head string) {
		_, _ = io.WriteString(conn, head)
		_, _ = io.Copy(io.Discard, conn) // until the sender leaves
	}
	var bomb bytes.Buffer
	packer := gzip.NewWriter(&bomb)
	_, _ = packer.Write(make([]byte, 10<<20))
	_ = packer.Close()

	for _, c := range []struct {
		name     string
		server   func(conn net.Conn)
		result   outbox.Result
		breaker  breaker.Outcome
		cause    string
		within   time.Duration
		maxTaken int64
	}{
		{"endless body of a 500", func(conn net.Conn) { endless(conn, "HTTP/1.1 500 No\r\n\r\n", "garbage ") },
			outbox.Failed, breaker.Failure, CauseStatus, time.Second, maxAnswerBody + buffers},
		{"endless body of a 200", func(conn net.Conn) { endless(conn, "HTTP/1.1 200 OK\r\n\r\n", "garbage ") },
			outbox.Delivered, breaker.Success, "", time.Second, maxAnswerBody + buffers},
		{"endless chunk extensions", func(conn net.Conn) {
			endless(conn, "HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n1;", "x")
		},
			outbox.Failed, breaker.Failure, CauseStatus, time.Second, maxAnswerBody + buffers},
		{"a byte a second of a body", func(conn net.Conn) { drip(conn, "HTTP/1.1 500 No\r\nContent-Length: 1000000\r\n\r\n") },
			outbox.Failed, breaker.Failure, CauseStatus, maxBodyWait, buffers},
		{"a byte a second of a 200's body", func(conn net.Conn) { drip(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n") },
			outbox.Delivered, breaker.Success, "", maxBodyWait, buffers},
		{"a byte a second of headers", func(conn net.Conn) { drip(conn, "HTTP/1.1 200 OK\r\nX-A: ") },
			outbox.Failed, breaker.Failure, outbox.CauseTimeout, timeout, buffers},
		{"headers, then silence", func(conn net.Conn) { silence(conn, "HTTP/1.1 503 No\r\nContent-Length: 5\r\n\r\n") },
			outbox.Failed, breaker.Failure, CauseStatus, maxBodyWait, buffers},
		{"half the headers, then silence", func(conn net.Conn) { silence(conn, "HTTP/1.1 200 OK\r\nX-A:") },
			outbox.Failed, breaker.Failure, outbox.CauseTimeout, timeout, buffers},
		{"silence", func(conn net.Conn) { silence(conn, "") },
			outbox.Failed, breaker.Failure, outbox.CauseTimeout, timeout, buffers},
		{"gzip bomb", func(conn net.Conn) {
			fmt.Fprintf(conn, "HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", bomb.Len(), bomb.Bytes())
		},
			outbox.Failed, breaker.Failure, CauseStatus, time.Second, maxAnswerBody + buffers},
		{"10 MB status line", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 "+strings.Repeat("O", 10<<20)+"\r\n\r\n")
		},
			outbox.Failed, breaker.Failure, CauseAnswer, time.Second, maxAnswerHeader + buffers},
		{"10 MB header", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX-A: "+strings.Repeat("a", 10<<20)+"\r\n\r\n")
		},
			outbox.Failed, breaker.Failure, CauseAnswer, time.Second, maxAnswerHeader + buffers},
		{"endless headers", func(conn net.Conn) { endless(conn, "HTTP/1.1 200 OK\r\n", "X-A: b\r\n") },
			outbox.Failed, breaker.Failure, CauseAnswer, time.Second, maxAnswerHeader + buffers},
		{"endless 1xx answers", func(conn net.Conn) { endless(conn, "", "HTTP/1.1 103 Early\r\n\r\n") },
			outbox.Failed, breaker.Failure, CauseAnswer, time.Second, maxAnswerHeader + buffers},
		{"no HTTP", func(conn net.Conn) { _, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.6\r\n") },
			outbox.Failed, breaker.Failure, CauseAnswer, time.Second, buffers},
		{"a status that is none", func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 20x OK\r\n\r\n") },
			outbox.Failed, breaker.Failure, CauseAnswer, time.Second, buffers},
		{"101", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		},
			outbox.Failed, breaker.Failure, CauseStatus, time.Second, buffers},
		{"closed without an answer", func(net.Conn) {},
			outbox.Failed, breaker.Failure, CauseReset, time.Second, 0},
		{"closed between headers", func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX-A: b\r\n") },
			outbox.Failed, breaker.Failure, CauseReset, time.Second, buffers},
		{"closed inside a header", func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX-A") },
			outbox.Failed, breaker.Failure, CauseAnswer, time.Second, buffers},
		{"closed inside a 200's body", func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") },
			outbox.Delivered, breaker.Success, "", time.Second, buffers},
		{"invalid UTF-8", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 500 No\r\nLocation: \xff\r\n\r\n"+strings.Repeat("\xff\xc3(é\x00", 5000))
		},
			outbox.Failed, breaker.Failure, CauseStatus, time.Second, maxAnswerBody + buffers},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := config("")
				cfg.Timeout = timeout
				got, taken, took := attemptAt(t, cfg, c.server)
				if got.Result != c.result || got.Breaker != c.breaker {
					t.Errorf("got %+v, failure %+v", got, got.Failure)
				}
				if (got.Failure == nil) != (c.cause == "") || got.Failure != nil && got.Failure.Cause != c.cause {
					t.Errorf("got the failure %+v, want the cause %q", got.Failure, c.cause)
				}
				if got.Failure != nil && (len(got.Failure.Message) > 2<<10 || !utf8.ValidString(got.Failure.Message) || strings.ContainsAny(got.Failure.Message, "\x00\x1b\r")) {
					t.Errorf("the message is not fit to be kept: %q", got.Failure.Message)
				}
				if took > c.within {
					t.Errorf("took %v, more than %v", took, c.within)
				}
				if taken > c.maxTaken {
					t.Errorf("took %d bytes, more than %d", taken, c.maxTaken)
				}
			})
		})
	}
}

func TestSend_GzipIsNotAskedFor(t *testing.T) {
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "" {
			t.Errorf("Accept-Encoding: %s", got)
		}
	})
	open(t, config(server.URL)).Send(t.Context(), delivery())
}

func TestSend_HeaderTimeoutEndsEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config("")
		c.HeaderTimeout = 3 * time.Second
		got, _, took := attemptAt(t, c, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
		if got.Result != outbox.Failed || got.Failure.Cause != outbox.CauseTimeout || took != 3*time.Second {
			t.Errorf("got %+v (%+v) after %v", got, got.Failure, took)
		}
	})
}

func TestSend_OurCancellationIsNobodysFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := newPipes()
		s := open(t, config("http://billing.example/"))
		s.transport.DialContext = network.dial
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			conn, err := network.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			time.Sleep(time.Second)
			cancel() // while the sender waits for an answer
			_, _ = io.Copy(io.Discard, conn)
		}()
		got := s.Send(ctx, delivery())
		if got.Result != outbox.Cancelled || got.Breaker != breaker.Neutral || got.Failure.Cause != outbox.CauseCancelled {
			t.Errorf("got %+v (%+v)", got, got.Failure)
		}
		// And before it has begun.
		if got := s.Send(ctx, delivery()); got.Result != outbox.Cancelled {
			t.Errorf("got %+v (%+v)", got, got.Failure)
		}
		_ = network.Close()
	})
}

// A deadline that the caller set is a timeout like the sender's own.
func TestSend_CallersDeadlineIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := newPipes()
		defer network.Close()
		s := open(t, config("http://billing.example/"))
		s.transport.DialContext = network.dial // nobody accepts
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got := s.Send(ctx, delivery())
		if got.Result != outbox.Failed || got.Breaker != breaker.Failure || got.Failure.Cause != outbox.CauseTimeout {
			t.Errorf("got %+v (%+v)", got, got.Failure)
		}
	})
}
