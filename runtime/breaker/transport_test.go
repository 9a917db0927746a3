package breaker_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// answering serves the status in the query, or hangs until the client leaves.
func answering(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server sees the client leave
		switch q := r.URL.Query().Get("answer"); q {
		case "hang":
			<-r.Context().Done()
		case "break":
			panic(http.ErrAbortHandler)
		default:
			var status int
			for _, d := range q {
				status = status*10 + int(d-'0')
			}
			w.WriteHeader(status)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// transport is a client's own, closed with the test.
func transport(t *testing.T) *http.Transport {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func send(t *testing.T, c *http.Client, ctx context.Context, url string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

var discardLog = log.New(io.Discard, "", 0)

func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func TestTransport_WhatCounts(t *testing.T) {
	server := answering(t)
	tlsServer := httptest.NewTLSServer(http.NotFoundHandler()) // whose certificate nobody knows
	tlsServer.Config.ErrorLog = discardLog
	t.Cleanup(tlsServer.Close)
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := refused.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, url string
		want      breaker.Outcome
	}{
		{"200", server.URL + "?answer=200", breaker.Success},
		{"204", server.URL + "?answer=204", breaker.Success},
		{"304", server.URL + "?answer=304", breaker.Success},
		{"400", server.URL + "?answer=400", breaker.Neutral},
		{"401", server.URL + "?answer=401", breaker.Neutral},
		{"404", server.URL + "?answer=404", breaker.Neutral},
		{"408", server.URL + "?answer=408", breaker.Neutral},
		{"409", server.URL + "?answer=409", breaker.Neutral},
		{"429", server.URL + "?answer=429", breaker.Failure},
		{"500", server.URL + "?answer=500", breaker.Failure},
		{"503", server.URL + "?answer=503", breaker.Failure},
		{"599", server.URL + "?answer=599", breaker.Failure},
		{"broken off", server.URL + "?answer=break", breaker.Failure},
		{"timeout", server.URL + "?answer=hang", breaker.Failure},
		{"cancelled", server.URL + "?answer=hang", breaker.Neutral},
		{"refused", "http://" + refused.Addr().String(), breaker.Failure},
		{"TLS", tlsServer.URL, breaker.Failure},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBreaker(t, breaker.Config{FailureThreshold: 1})
			client := &http.Client{Transport: &breaker.Transport{Base: transport(t), Breaker: b}, CheckRedirect: noRedirects}
			ctx := t.Context()
			switch c.name {
			case "timeout":
				client.Timeout = 20 * time.Millisecond
			case "cancelled":
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				time.AfterFunc(20*time.Millisecond, cancel)
			}
			_ = send(t, client, ctx, c.url)
			counts := b.Counts()
			got := map[breaker.Outcome]uint64{breaker.Success: counts.Successes, breaker.Failure: counts.Failures, breaker.Neutral: counts.Neutral}
			if got[c.want] != 1 || counts.Successes+counts.Failures+counts.Neutral != 1 {
				t.Fatalf("counted %+v, want one %v", counts, c.want)
			}
		})
	}
}

type closeRecorder struct {
	io.Reader
	closed atomic.Bool
}

func (c *closeRecorder) Close() error {
	c.closed.Store(true)
	return nil
}

func TestTransport_RefusalReachesNoServer(t *testing.T) {
	b := newBreaker(t, breaker.Config{Name: "billing"})
	b.ForceOpen()
	tr := &breaker.Transport{Breaker: b, Base: roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("the request went out")
		return nil, errDown
	})}
	body := &closeRecorder{Reader: strings.NewReader("x")}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://user:hunter2@127.0.0.1/?token=hunter2", body)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tr.RoundTrip(req)
	open, ok := errors.AsType[*breaker.OpenError](err)
	if !ok || open.Name != "billing" || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("RoundTrip: %v", err)
	}
	if !body.closed.Load() {
		t.Fatal("the body is left open")
	}
	_, err = (&http.Client{Transport: tr}).Get("http://127.0.0.1/")
	if wrapped, ok := errors.AsType[*url.Error](err); !ok || !errors.Is(wrapped, breaker.ErrOpen) {
		t.Fatalf("through a client: %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTransport_ABreakerAHost(t *testing.T) {
	log := newEventLog()
	hosts := newRegistry(t, breaker.Config{FailureThreshold: 1, Logger: log.logger()}, 2)
	answers := roundTrip(func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(r.URL.Host, "down") {
			return nil, errDown
		}
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
	})
	client := &http.Client{Transport: &breaker.Transport{Base: answers, Breakers: hosts}}
	secret := func(host string) string { return "http://user:hunter2@" + host + "/path?token=hunter2" }
	if err := send(t, client, t.Context(), secret("down:1")); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	if err := send(t, client, t.Context(), secret("down:1")); !errors.Is(err, breaker.ErrOpen) {
		t.Fatalf("the host's breaker is not open: %v", err)
	}
	if err := send(t, client, t.Context(), secret("up:1")); err != nil {
		t.Fatalf("another host suffers: %v", err)
	}
	if err := send(t, client, t.Context(), secret("down:2")); !errors.Is(err, errDown) {
		t.Fatalf("another port suffers: %v", err)
	}
	// Two breakers are open and there is no place for a third: unguarded.
	for range 3 {
		if err := send(t, client, t.Context(), secret("down:3")); !errors.Is(err, errDown) {
			t.Fatal(err)
		}
	}
	if n := hosts.Counts().Refused; n != 3 {
		t.Fatalf("%d refused", n)
	}
	for b := range hosts.All() {
		if err := b.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if log.count("state_transition_closed_to_open") != 2 || strings.Contains(log.text(), "hunter2") || strings.Contains(log.text(), "path") {
		t.Fatalf("logged\n%s", log.text())
	}
}

func TestTransport_NamesTheStatus(t *testing.T) {
	log := newEventLog()
	b := newBreaker(t, breaker.Config{FailureThreshold: 1, Logger: log.logger()})
	client := &http.Client{Transport: &breaker.Transport{Breaker: b, Base: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}, nil
	})}}
	if err := send(t, client, t.Context(), "http://127.0.0.1/"); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := log.lines(t)[0]["error_type"]; got != "http_503" {
		t.Fatalf("error_type %v", got)
	}
}

func TestTransport_CustomClassify(t *testing.T) {
	b := newBreaker(t, breaker.Config{FailureThreshold: 1})
	tr := &breaker.Transport{Breaker: b, Base: transport(t),
		Classify: func(ctx context.Context, resp *http.Response, err error) breaker.Outcome {
			if resp != nil && resp.StatusCode == http.StatusNotFound {
				return breaker.Failure
			}
			return breaker.ClassifyHTTP(ctx, resp, err)
		}}
	server := answering(t)
	client := &http.Client{Transport: tr}
	if err := send(t, client, t.Context(), server.URL+"?answer=404"); err != nil {
		t.Fatal(err)
	}
	wantState(t, b, breaker.Open)
	client.CloseIdleConnections()
}

func TestTransport_PanicInBase(t *testing.T) {
	b := newBreaker(t, breaker.Config{FailureThreshold: 1})
	tr := &breaker.Transport{Breaker: b, Base: roundTrip(func(*http.Request) (*http.Response, error) { panic("base") })}
	func() {
		defer func() {
			if v := recover(); v != "base" {
				t.Errorf("recovered %v", v)
			}
		}()
		_, _ = tr.RoundTrip(httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil))
	}()
	wantState(t, b, breaker.Open)
}

func TestTransport_NotConfigured(t *testing.T) {
	body := &closeRecorder{Reader: strings.NewReader("x")}
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", body)
	if _, err := new(breaker.Transport).RoundTrip(req); err == nil || !body.closed.Load() {
		t.Fatalf("RoundTrip: %v, body closed %v", err, body.closed.Load())
	}
	tr := &breaker.Transport{Breakers: newRegistry(t, breaker.Config{}, 0)}
	if _, err := tr.RoundTrip(&http.Request{}); err == nil {
		t.Fatal("a request without URL goes out")
	}
}
