package inbox_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/inbox"
)

// listen serves c on a loopback socket until the test ends.
func (c *consumer) listen(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return server.URL
}

// dial opens a connection that no client library has a say in.
func dial(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if deadline, ok := bounded(t).Deadline(); ok { // a test that fails must not hang
		if err := conn.SetDeadline(deadline); err != nil {
			t.Fatal(err)
		}
	}
	return conn
}

// head is d's request line and headers as text, with the headers of more
// put behind them as they are.
func head(t *testing.T, req *http.Request, contentLength int, more string) string {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /hooks/billing HTTP/1.1\r\nHost: receiver\r\nContent-Length: %d\r\n", contentLength)
	if err := req.Header.Write(&b); err != nil {
		t.Fatal(err)
	}
	b.WriteString(more)
	b.WriteString("\r\n")
	return b.String()
}

func send(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, conn net.Conn) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestHostile_TruncatedBodyIsNotApplied(t *testing.T) {
	c := newConsumer(t, nil)
	d := orderCreated("o-1")
	conn := dial(t, c.listen(t))
	// The whole JSON text is there, but not all that was announced.
	send(t, conn, head(t, c.signed(t, d), len(d.body)+1, "")+d.body)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	readAnswer(t, receive(t, conn)).want(t, 408, "body-incomplete")
	c.wantEffects(t, 0)
	c.wantNoRow(t, d)
	c.deliver(t, d).want(t, 200, "applied")
}

func TestHostile_SlowBodyIsCutOff(t *testing.T) {
	c := newConsumer(t, func(cfg *inbox.Config) { cfg.ReadTimeout = 50 * time.Millisecond })
	d := orderCreated("o-1")
	conn := dial(t, c.listen(t))
	send(t, conn, head(t, c.signed(t, d), len(d.body), "")+d.body[:5])
	// Nothing more comes: only the receiver can end this.
	resp := receive(t, conn)
	if !resp.Close {
		t.Error("the connection of a slow client is kept")
	}
	readAnswer(t, resp).want(t, 408, "body-incomplete")
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open still")
	}
	c.wantEffects(t, 0)
	c.wantNoRow(t, d)
}

func TestHostile_SlowBodyIsCutOffOnHTTP2(t *testing.T) {
	c := newConsumer(t, func(cfg *inbox.Config) { cfg.ReadTimeout = 50 * time.Millisecond })
	server := httptest.NewUnstartedServer(c)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	d := orderCreated("o-1")
	r, w := io.Pipe()
	defer w.Close()
	req := c.signed(t, d)
	out, err := http.NewRequestWithContext(bounded(t), http.MethodPost, server.URL, r)
	if err != nil {
		t.Fatal(err)
	}
	out.Header = req.Header
	go func() { _, _ = io.WriteString(w, d.body[:5]) }()
	resp, err := server.Client().Do(out)
	if err != nil {
		t.Fatal(err)
	}
	if resp.ProtoMajor != 2 {
		t.Fatalf("the test did not speak HTTP/2 but %s", resp.Proto)
	}
	readAnswer(t, resp).want(t, 408, "body-incomplete")
	c.wantEffects(t, 0)
}

func TestHostile_EndlessBodyIsNotReadToItsEnd(t *testing.T) {
	c := newConsumer(t, func(cfg *inbox.Config) { cfg.MaxBody = 1 << 10 })
	d := orderCreated("o-1")
	conn := dial(t, c.listen(t))
	req := c.signed(t, d)
	text := head(t, req, 0, "")
	send(t, conn, strings.Replace(text, "Content-Length: 0", "Transfer-Encoding: chunked", 1))
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<10, strings.Repeat(" ", 1<<10))
	hungUp := make(chan struct{})
	go func() {
		defer close(hungUp)
		for {
			if _, err := io.WriteString(conn, chunk); err != nil {
				return
			}
		}
	}()
	readAnswer(t, receive(t, conn)).want(t, 413, "body-too-large")
	<-hungUp // the receiver did it: this side never stops writing
	c.wantEffects(t, 0)
	c.wantNoRow(t, d)
}

func TestHostile_AnnouncedOversizeIsNotRead(t *testing.T) {
	c := newConsumer(t, func(cfg *inbox.Config) { cfg.MaxBody = 1 << 10 })
	conn := dial(t, c.listen(t))
	send(t, conn, head(t, c.signed(t, orderCreated("o-1")), 1<<40, ""))
	readAnswer(t, receive(t, conn)).want(t, 413, "body-too-large")
}

func TestHostile_InjectedHeadersAreRefused(t *testing.T) {
	d := orderCreated("o-1")
	for name, injected := range map[string]string{
		"a second type":             "X-Event-Type: order.noted\r\n",
		"a second type, lower case": "x-event-type: order.noted\r\n",
		"a second id":               "X-Event-Id: " + secondID + "\r\n",
		"a second key":              "Idempotency-Key: " + strings.Repeat("a", 64) + "\r\n",
		"a second webhook-id":       "webhook-id: " + strings.Repeat("a", 64) + "\r\n",
		"a second source":           "ce-source: /services/evil\r\n",
		"a second content type":     "Content-Type: text/html\r\n",
		"an empty second version":   "X-Event-Version:\r\n",
		"a folded line":             "X-Event-Type:\r\n order.noted\r\n",
		"a NUL":                     "X-Other: a\x00b\r\n",
		"a bare CR":                 "X-Other: a\rX-Event-Type: order.noted\r\n",
		"a name with a blank":       "X-Event-Type : order.noted\r\n",
		"a second length":           "Content-Length: 3\r\n",
		"a length and chunks":       "Transfer-Encoding: chunked\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := newConsumer(t, nil)
			conn := dial(t, c.listen(t))
			send(t, conn, head(t, c.signed(t, d), len(d.body), injected)+d.body)
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			resp := receive(t, conn)
			resp.Body.Close()
			if resp.StatusCode < 400 || resp.StatusCode > 499 {
				t.Errorf("answered %d", resp.StatusCode)
			}
			c.wantEffects(t, 0)
			c.wantNoRow(t, d)
		})
	}
}

func TestHostile_CopiesAtOnceOverSockets(t *testing.T) {
	c := newConsumer(t, nil)
	const copies = 50
	var inside sync.WaitGroup // holds the first copy until all others are answered
	inside.Add(copies - 1)
	c.inside = func(context.Context, inbox.Message) { inside.Wait() }
	url := c.listen(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	d := orderCreated("o-1")
	statuses := make([]int, copies)
	errs := make([]error, copies)
	var done sync.WaitGroup
	for i := range copies {
		req := d.request(t, url, c.clock.Now(), c.secret).WithContext(bounded(t))
		done.Go(func() {
			resp, err := transport.RoundTrip(req)
			errs[i] = err
			if err == nil {
				statuses[i] = resp.StatusCode
				resp.Body.Close()
			}
			if err != nil || resp.StatusCode != http.StatusOK {
				inside.Done()
			}
		})
	}
	done.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	count := map[int]int{}
	for _, s := range statuses {
		count[s]++
	}
	// The one success is the one that applied; nobody else was told 200 before.
	if count[200] != 1 || count[409] != copies-1 {
		t.Errorf("answers were %v, want one 200 and the rest 409", count)
	}
	c.wantEffects(t, 1)
	c.deliver(t, d).want(t, 200, "duplicate")
}

func TestHostile_RefusedRequestsDoNotFillTheLogWithTheirText(t *testing.T) {
	c := newConsumer(t, nil)
	req := c.signed(t, orderCreated("o-1"))
	long := strings.Repeat("A", 10_000)
	req.Header.Set("X-Event-Type", long+"\x80")
	req.Header.Del("ce-type")
	c.serve(t, req).want(t, 404, "unknown-type")
	if n := len(c.logs.String()); n > 1500 {
		t.Errorf("a hostile type made a log line of %d bytes", n)
	}
	before := len(c.logs.String())
	req = orderCreated("o-1").request(t, "/", c.clock.Now(), mustSecret(t, secretText(9)))
	req.Header.Set("X-Event-Type", "FORGED")
	c.serve(t, req).want(t, 401, "bad-signature")
	if strings.Contains(c.logs.String()[before:], "FORGED") {
		t.Error("a header of an unauthenticated request reached the log")
	}
}
