package outboxtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Server is a receiver on a loopback socket. It records every request, runs
// the handler it was given, and fails as it is told. It closes when the test
// ends, and lets go of whatever is held back.
type Server struct {
	url      string
	handler  http.Handler
	choose   func(Request) Fault // nil: use queue
	closed   chan struct{}
	requests journal[Request]
	arrivals journal[struct{}]
	mu       sync.Mutex
	arrived  int
	queue    []Fault
}

// Request is what arrived at a Server, with what became of it.
type Request struct {
	// Number counts arrivals from 1.
	Number int
	Method string
	Path   string
	Header http.Header
	Body   []byte
	// BodyErr is set when the body broke off; Body is then what came.
	BodyErr error
	// Fault is the one that this request met.
	Fault Fault
	// Processed is set when the handler has run to its end.
	Processed bool
	// Status that was answered; 0 when the connection was cut.
	Status int
}

// Fault is one way to treat a request. The zero value lets the handler
// answer.
type Fault struct {
	// Hold, when it is not nil, keeps the request waiting, before anything is
	// done with it, until it is closed, the client leaves or the test ends.
	Hold <-chan struct{}
	// Cut ends the connection without an answer.
	Cut Cut
	// Status, when it is not 0, is answered without asking the handler.
	Status int
	// Header is added to the answer.
	Header http.Header
	// Body is the answer's, with Status.
	Body []byte
	// Trickle, when it is not nil, lets the answer's body out byte by byte,
	// one for each value received; the rest at once when it is closed.
	Trickle <-chan struct{}
}

// Cut says when a connection is cut.
type Cut int

const (
	// NoCut answers.
	NoCut Cut = iota
	// CutBefore drops the request: the handler does not see it.
	CutBefore
	// CutAfter lets the handler do its work, and drops its answer.
	CutAfter
)

// Status is the fault of answering code.
func Status(code int) Fault { return Fault{Status: code} }

// RetryAfter is the fault of answering code with a Retry-After header.
func RetryAfter(code int, value string) Fault {
	return Fault{Status: code, Header: http.Header{"Retry-After": {value}}}
}

// NewServer starts a server. handler does the work of a request that meets
// no fault; nil answers 200.
func NewServer(tb testing.TB, handler http.Handler) *Server {
	tb.Helper()
	return start(tb, handler, nil)
}

// NewFaultyServer starts a server that asks choose what to do with each
// request; choose is called for one request at a time, with Number to Body
// set.
func NewFaultyServer(tb testing.TB, handler http.Handler, choose func(Request) Fault) *Server {
	tb.Helper()
	return start(tb, handler, choose)
}

func start(tb testing.TB, handler http.Handler, choose func(Request) Fault) *Server {
	tb.Helper()
	if handler == nil {
		handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	}
	s := &Server{handler: handler, choose: choose, closed: make(chan struct{})}
	server := httptest.NewServer(s)
	s.url = server.URL
	tb.Cleanup(func() {
		close(s.closed)
		server.Close()
	})
	return s
}

// URL is where the server listens: http://127.0.0.1:port.
func (s *Server) URL() string { return s.url }

// FailNext makes the next requests meet faults, one each, in order of
// arrival. It does nothing for a server with a choose function.
func (s *Server) FailNext(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, faults...)
}

// Requests returns the requests whose treatment is over, in the order in
// which it ended: a request is here before its client has the answer.
func (s *Server) Requests() []Request { return s.requests.all() }

// Wait returns the requests when the treatment of at least n is over, or
// those so far and an error when ctx ends first.
func (s *Server) Wait(ctx context.Context, n int) ([]Request, error) { return s.requests.wait(ctx, n) }

// WaitArrived returns when at least n requests have arrived, held ones among
// them, or with an error when ctx ends first.
func (s *Server) WaitArrived(ctx context.Context, n int) error {
	_, err := s.arrivals.wait(ctx, n)
	return err
}

// ServeHTTP implements http.Handler, so that a Server can stand in a mux too.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r := Request{Method: req.Method, Path: req.URL.Path, Header: req.Header.Clone()}
	// The recording reads the body to its end: what a handler does with a body
	// that never ends cannot be seen behind a Server.
	r.Body, r.BodyErr = io.ReadAll(req.Body)
	r = s.next(r)
	answer := s.treat(req, &r)
	s.requests.append(r)
	if answer == nil {
		panic(http.ErrAbortHandler) // net/http cuts the connection and says nothing
	}
	s.answer(w, req, r.Fault, answer)
}

// treat does to a request what its fault says, and returns the answer; nil
// cuts the connection.
func (s *Server) treat(req *http.Request, r *Request) *buffered {
	if r.Fault.Hold != nil {
		select {
		case <-r.Fault.Hold:
		case <-s.closed:
			return nil
		case <-req.Context().Done():
			return nil
		}
	}
	if r.Fault.Cut == CutBefore {
		return nil
	}
	answer := &buffered{header: make(http.Header)}
	if r.Fault.Status != 0 {
		answer.WriteHeader(r.Fault.Status)
		answer.body.Write(r.Fault.Body)
	} else {
		req.Body = io.NopCloser(replay(*r))
		s.handler.ServeHTTP(answer, req)
		r.Processed = true
	}
	if r.Fault.Cut == CutAfter {
		return nil
	}
	r.Status = answer.statusCode()
	return answer
}

// next gives r its number and its fault.
func (s *Server) next(r Request) Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived++
	r.Number = s.arrived
	switch {
	case s.choose != nil:
		r.Fault = s.choose(r)
	case len(s.queue) > 0:
		r.Fault, s.queue = s.queue[0], s.queue[1:]
	}
	s.arrivals.append(struct{}{})
	return r
}

// replay gives the handler the body as it came, its breaking off included.
func replay(r Request) io.Reader {
	if r.BodyErr == nil {
		return bytes.NewReader(r.Body)
	}
	return io.MultiReader(bytes.NewReader(r.Body), failing{r.BodyErr})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func (s *Server) answer(w http.ResponseWriter, req *http.Request, fault Fault, answer *buffered) {
	h := w.Header()
	for name, values := range answer.header {
		h[name] = values
	}
	for name, values := range fault.Header {
		h[name] = append(h[name], values...)
	}
	w.WriteHeader(answer.statusCode())
	body := answer.body.Bytes()
	control := http.NewResponseController(w)
	for fault.Trickle != nil && len(body) > 0 {
		_ = control.Flush()
		select {
		case _, open := <-fault.Trickle:
			if !open {
				fault.Trickle = nil
				continue
			}
		case <-s.closed:
			panic(http.ErrAbortHandler)
		case <-req.Context().Done():
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(body[:1])
		body = body[1:]
	}
	_, _ = w.Write(body)
}

// buffered keeps a handler's answer, which may have to be dropped.
type buffered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *buffered) Header() http.Header { return b.header }

func (b *buffered) WriteHeader(status int) {
	if b.status == 0 {
		b.status = status
	}
}

func (b *buffered) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(p)
}

func (b *buffered) statusCode() int {
	if b.status == 0 {
		return http.StatusOK
	}
	return b.status
}
