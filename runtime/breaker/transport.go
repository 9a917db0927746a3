package breaker

import (
	"context"
	"errors"
	"net/http"
	"strconv"
)

// Transport is an http.RoundTripper that asks a breaker before each request
// and reports the answer to it. A refused request fails with a *OpenError,
// which http.Client wraps in a *url.Error.
//
// A request is over for the breaker when the answer's header is there; a body
// that breaks off later is not counted. A request at the trip edge waits for
// the verdict, as long as its context lets it.
type Transport struct {
	// Base sends the requests. nil: http.DefaultTransport.
	Base http.RoundTripper
	// Breaker guards all requests. nil: each host has one of Breakers, named
	// by the URL's host and port and nothing else of the URL.
	Breaker *Breaker
	// Breakers is used when Breaker is nil. When it is full, requests to hosts
	// that it does not know go out unguarded; its Counts tell how many.
	Breakers *Registry
	// Classify judges an answer; exactly one of its last arguments is nil.
	// nil: ClassifyHTTP.
	Classify func(ctx context.Context, resp *http.Response, err error) Outcome
}

// ClassifyHTTP is the classification that Transport.Classify replaces: 5xx
// and 429 are failures, other 4xx are Neutral, for they blame the request,
// all other answers are successes. Without an answer, DefaultClassify decides.
func ClassifyHTTP(ctx context.Context, resp *http.Response, err error) Outcome {
	switch {
	case resp == nil:
		return DefaultClassify(ctx, err)
	case resp.StatusCode >= 500, resp.StatusCode == http.StatusTooManyRequests:
		return Failure
	case resp.StatusCode >= 400:
		return Neutral
	}
	return Success
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	b, err := t.breaker(req)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	if b == nil {
		return t.base().RoundTrip(req)
	}
	ctx := req.Context()
	c, err := b.await(ctx)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	outcome, cause := Failure, errPanic
	defer func() { b.settle(c, outcome, cause) }()
	resp, err := t.base().RoundTrip(req)
	outcome, cause = Neutral, err // a classifier that panics blames nobody
	if err == nil && resp.StatusCode >= 400 {
		cause = statusError(resp.StatusCode)
	}
	outcome = t.classify(ctx, resp, err)
	return resp, err
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach Base.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// breaker returns nil when the request goes out unguarded.
func (t *Transport) breaker(req *http.Request) (*Breaker, error) {
	if t.Breaker != nil {
		return t.Breaker, nil
	}
	if t.Breakers == nil {
		return nil, errors.New("breaker: Transport has neither Breaker nor Breakers: set one")
	}
	if req.URL == nil {
		return nil, errors.New("breaker: request without URL")
	}
	b, err := t.Breakers.Get(req.URL.Host)
	if errors.Is(err, ErrRegistryFull) {
		return nil, nil
	}
	return b, err
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

func (t *Transport) classify(ctx context.Context, resp *http.Response, err error) Outcome {
	if t.Classify == nil {
		return ClassifyHTTP(ctx, resp, err)
	}
	return t.Classify(ctx, resp, err)
}

// closeBody does for a request that is not sent what RoundTrip must always do.
func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// statusError is the cause of a failure that is an answer.
type statusError int

func (e statusError) Error() string     { return "HTTP status " + strconv.Itoa(int(e)) }
func (e statusError) ErrorType() string { return "http_" + strconv.Itoa(int(e)) }
