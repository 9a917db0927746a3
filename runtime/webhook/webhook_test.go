package webhook

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testSecret is the published test key of Standard Webhooks, in two parts.
const testSecret = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// delivery is an event on its way.
func delivery() *outbox.Delivery {
	return &outbox.Delivery{
		Event: &outbox.Event{
			ID:             uuid.MustParse("01932c07-0000-7000-8000-000000000001"),
			Type:           "order.created",
			Version:        2,
			Payload:        []byte(`{"amount":"12.50","order_id":"o-1"}`),
			IdempotencyKey: "2c852195f1742bc68e2901f6adc7a1593923fb2b472cd6e8b8e7f9cf16f9ffe2",
			CreatedAt:      time.Date(2026, 1, 31, 9, 30, 0, 120_000_000, time.UTC),
		},
		Destination: "billing",
	}
}

// config sends to url without a signature.
func config(url string) Config {
	return Config{Name: "billing", URL: url, Source: "/services/orders", Timeout: 10 * time.Second}
}

// open makes the sender that New would make, closed when the test ends.
func open(t testing.TB, c Config) *sender {
	t.Helper()
	dest, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := dest.Sender.(*sender)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// serve starts a server on loopback, closed when the test ends.
func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

// pipes is a network in memory, which works under synctest's clock.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
	case <-ctx.Done():
	}
	client.Close()
	server.Close()
	return nil, net.ErrClosed
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// attemptAt makes one attempt at a server that is a function of the
// connection, called once the request is read. It returns how many bytes the
// sender took of what the server wrote. It runs in a synctest bubble.
func attemptAt(t *testing.T, c Config, server func(conn net.Conn)) (o outbox.Outcome, taken int64, took time.Duration) {
	t.Helper()
	network := newPipes()
	c.URL = "http://billing.example/hooks"
	s := open(t, c)
	s.transport.DialContext = network.dial
	counter := &countingConn{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := network.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		counter.Conn = conn
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		server(counter)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), s.timeout)
	defer cancel()
	start := time.Now()
	o = s.Send(ctx, delivery())
	took = time.Since(start)
	_ = network.Close()
	_ = s.Close()
	<-done
	return o, counter.written, took
}

type countingConn struct {
	net.Conn
	written int64
}

func (c *countingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written += int64(n)
	return n, err
}
