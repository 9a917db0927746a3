package webhook

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// secure starts an HTTPS server that speaks HTTP/2 and returns a pool with
// its authority.
func secure(t *testing.T, change func(*httptest.Server), h http.HandlerFunc) (*httptest.Server, *x509.CertPool) {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	if change != nil {
		change(server)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return server, pool
}

var discard = log.New(io.Discard, "", 0)

func quiet(s *httptest.Server) { s.Config.ErrorLog = discard }

func TestSend_HTTP2WithAnOwnAuthority(t *testing.T) {
	var protocol atomic.Value
	server, pool := secure(t, nil, func(_ http.ResponseWriter, r *http.Request) { protocol.Store(r.Proto) })
	c := config(server.URL)
	c.TLS = &tls.Config{RootCAs: pool}
	got := open(t, c).Send(t.Context(), delivery())
	if got.Result != outbox.Delivered || protocol.Load() != "HTTP/2.0" {
		t.Errorf("got %+v (%+v) over %v", got, got.Failure, protocol.Load())
	}
	if c.TLS.NextProtos != nil {
		t.Error("the caller's tls.Config was changed")
	}
}

// HTTP/2's flow control lets an endpoint send ahead of what is read.
func TestSend_EndlessBodyOverHTTP2(t *testing.T) {
	written := make(chan int)
	server, pool := secure(t, quiet, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		n, chunk := 0, []byte(strings.Repeat("garbage ", 512))
		for {
			m, err := w.Write(chunk)
			if n += m; err != nil {
				written <- n
				return
			}
		}
	})
	c := config(server.URL)
	c.TLS = &tls.Config{RootCAs: pool}
	s := open(t, c)
	for range 3 {
		got := s.Send(t.Context(), delivery())
		if got.Result != outbox.Failed || got.Failure.Cause != CauseStatus || len(got.Failure.Message) > maxMessage {
			t.Errorf("got %+v (%+v)", got, got.Failure)
		}
		if n := <-written; n > 512<<10 {
			t.Errorf("the endpoint could write %d bytes", n)
		}
	}
}

func TestSend_UnknownAuthority(t *testing.T) {
	server, _ := secure(t, quiet, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	got := open(t, config(server.URL)).Send(t.Context(), delivery())
	if got.Result != outbox.Failed || got.Breaker != breaker.Failure || got.Failure.Cause != CauseTLS {
		t.Errorf("got %+v (%+v)", got, got.Failure)
	}
}

func TestSend_CertificateOfAnotherHost(t *testing.T) {
	server, pool := secure(t, quiet, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	c := config(server.URL)
	c.TLS = &tls.Config{RootCAs: pool, ServerName: "other.invalid"}
	got := open(t, c).Send(t.Context(), delivery())
	if got.Result != outbox.Failed || got.Failure.Cause != CauseTLS {
		t.Errorf("got %+v (%+v)", got, got.Failure)
	}
}

func TestSend_HTTPSToAServerThatDoesNotSpeakIt(t *testing.T) {
	server := serve(t, nil)
	server.Config.ErrorLog = discard
	got := open(t, config(strings.Replace(server.URL, "http:", "https:", 1))).Send(t.Context(), delivery())
	if got.Result != outbox.Failed || got.Failure.Cause != CauseTLS {
		t.Errorf("got %+v (%+v)", got, got.Failure)
	}
}

func TestSend_ClientCertificate(t *testing.T) {
	var subject atomic.Value
	server, pool := secure(t, func(s *httptest.Server) {
		quiet(s)
		s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	}, func(_ http.ResponseWriter, r *http.Request) {
		subject.Store(r.TLS.PeerCertificates[0].Subject.Organization[0])
	})
	c := config(server.URL)
	c.TLS = &tls.Config{RootCAs: pool}
	// The server may refuse after its end of the handshake (TLS 1.3): the
	// alert and the end of the connection race.
	without := open(t, c).Send(t.Context(), delivery())
	if without.Result != outbox.Failed || without.Breaker != breaker.Failure || without.Failure.Cause != CauseTLS && without.Failure.Cause != CauseReset {
		t.Errorf("without: got %+v (%+v)", without, without.Failure)
	}
	c.TLS.Certificates = server.TLS.Certificates
	if got := open(t, c).Send(t.Context(), delivery()); got.Result != outbox.Delivered || subject.Load() != "Acme Co" {
		t.Errorf("with: got %+v (%+v) as %v", got, got.Failure, subject.Load())
	}
}

// One connection serves attempts one after another, whatever the answers say,
// as long as their bodies are within the bounds.
func TestSend_ReusesConnections(t *testing.T) {
	var conns atomic.Int32
	n := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		switch n % 4 {
		case 0:
			w.WriteHeader(500)
			_, _ = io.WriteString(w, strings.Repeat("x", 60<<10))
		case 1:
			w.WriteHeader(204)
		case 2:
			_, _ = io.WriteString(w, strings.Repeat("x", 60<<10))
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	s := open(t, config(server.URL))
	for range 20 {
		s.Send(t.Context(), delivery())
	}
	if conns.Load() != 1 {
		t.Errorf("20 attempts took %d connections", conns.Load())
	}
	// Close lets go of it, and the sender still works.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.Send(t.Context(), delivery())
	if conns.Load() != 2 {
		t.Errorf("after Close: %d connections", conns.Load())
	}
}

func TestSend_KeepsAConnectionForEachAttemptInFlight(t *testing.T) {
	const parallel = 8
	var conns atomic.Int32
	arrived, gate := make(chan struct{}), make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-gate
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := config(server.URL)
	c.MaxInFlight = parallel
	s := open(t, c)
	round := func() {
		var wg sync.WaitGroup
		for range parallel {
			wg.Go(func() {
				if got := s.Send(t.Context(), delivery()); got.Result != outbox.Delivered {
					t.Errorf("got %+v (%+v)", got, got.Failure)
				}
			})
		}
		for range parallel {
			<-arrived
		}
		for range parallel {
			gate <- struct{}{}
		}
		wg.Wait()
	}
	for range 4 {
		round()
	}
	// net/http may dial while a connection is on its way back to the pool; with
	// its default of two idle connections there would be 26 or more.
	if n := conns.Load(); n >= 2*parallel {
		t.Errorf("%d connections for 4 rounds of %d attempts", n, parallel)
	}
}

// A connection that the other side closed while it was idle costs no attempt.
func TestSend_SurvivesAnIdleConnectionThatWasClosed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	var hits atomic.Int32
	go func() {
		defer close(served)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			// One answer that promises another, then the end.
			if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, req.Body)
				hits.Add(1)
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() { listener.Close(); <-served })
	s := open(t, config("http://"+listener.Addr().String()))
	for range 20 {
		if got := s.Send(t.Context(), delivery()); got.Result != outbox.Delivered {
			t.Fatalf("got %+v (%+v)", got, got.Failure)
		}
	}
	if hits.Load() != 20 {
		t.Errorf("%d requests for 20 attempts", hits.Load())
	}
}

func TestSend_Proxy(t *testing.T) {
	var asked atomic.Value
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.RequestURI + " " + r.Header.Get("Proxy-Authorization"))
		w.WriteHeader(202)
	})
	t.Setenv("PROXY_PASSWORD", "sesame-open")
	c := config("http://hooks.example/in")
	c.Proxy = strings.Replace(proxy.URL, "http://", "http://jane:${PROXY_PASSWORD}@", 1)
	got := open(t, c).Send(t.Context(), delivery())
	if got.Result != outbox.Delivered || asked.Load() != "http://hooks.example/in Basic amFuZTpzZXNhbWUtb3Blbg==" {
		t.Errorf("got %+v (%+v); the proxy was asked for %v", got, got.Failure, asked.Load())
	}
}

func TestSend_TheEnvironmentsProxyIsNotUsed(t *testing.T) {
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy got a request") })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	server := serve(t, func(http.ResponseWriter, *http.Request) {})
	if got := open(t, config(server.URL)).Send(t.Context(), delivery()); got.Result != outbox.Delivered {
		t.Errorf("got %+v (%+v)", got, got.Failure)
	}
}

// What an endpoint sends back does not carry our secrets into the database.
func TestSend_SecretsThatComeBackAreHidden(t *testing.T) {
	t.Setenv("HOOK_TOKEN", "token-from-the-environment")
	t.Setenv("HOOK_PATH", "T000/B000/pathsecret")
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://elsewhere.example/?q="+r.URL.RawQuery)
		w.WriteHeader(302)
		_ = r.Header.Write(w)
		_, _ = io.WriteString(w, r.RequestURI+" jane:open-sesame "+r.URL.Query().Get("sig"))
	})
	c := config(strings.Replace(server.URL, "http://", "http://jane:open-sesame@", 1) + "/${HOOK_PATH}?sig=query%2Fsecret&n=1")
	c.Headers = map[string]string{"X-Token": "Bearer ${HOOK_TOKEN}", "X-Literal": "written-in-code"}
	got := open(t, c).Send(t.Context(), delivery())
	if got.Result != outbox.Failed {
		t.Fatalf("got %+v (%+v)", got, got.Failure)
	}
	for _, secret := range []string{"open-sesame", "token-from-the-environment", "written-in-code", "pathsecret", "query%2Fsecret", "query/secret", "amFuZTpvcGVuLXNlc2FtZQ=="} {
		if strings.Contains(got.Failure.Message, secret) {
			t.Errorf("%q is in %s", secret, got.Failure.Message)
		}
	}
	if !strings.Contains(got.Failure.Message, "X-Event-Type: order.created") || !strings.Contains(got.Failure.Message, "Location: https://elsewhere.example/") {
		t.Errorf("too much is hidden: %s", got.Failure.Message)
	}
}

func TestSend_SharesThePayload(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) {})
	s := open(t, config(server.URL))
	d := delivery()
	before := string(d.Payload)
	d.Payload = append(make([]byte, 0, 1<<20), d.Payload...)
	d.Payload = append(d.Payload, strings.Repeat(" ", 1<<20-len(d.Payload))...)
	s.Send(t.Context(), d) // the connection is there
	const attempts = 20
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	for range attempts {
		s.Send(t.Context(), d)
	}
	runtime.ReadMemStats(&end)
	// Both ends of the connection are in this process; the body is 1 MiB.
	if n := (end.TotalAlloc - start.TotalAlloc) / attempts; n > 256<<10 {
		t.Errorf("an attempt allocates %d bytes", n)
	}
	if string(d.Payload[:len(before)]) != before {
		t.Error("the payload was changed")
	}
}
