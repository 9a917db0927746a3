package outboxtest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outboxtest"
)

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// client has its own connections, closed when the test ends.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func post(t *testing.T, c *http.Client, url, body string) (*http.Response, error) {
	t.Helper()
	// Without GetBody net/http does not send again on a cut connection by itself.
	req, err := http.NewRequestWithContext(bounded(t), http.MethodPost, url, io.NopCloser(strings.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Event-Id", body)
	return c.Do(req)
}

func wantStatus(t *testing.T, resp *http.Response, err error, status int) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != status {
		t.Fatalf("status %d, want %d", resp.StatusCode, status)
	}
	return string(body)
}

func TestServer_RecordsWhatArrives(t *testing.T) {
	server := outboxtest.NewServer(t, nil)
	c := client(t)
	for _, body := range []string{"one", "two"} {
		resp, err := post(t, c, server.URL()+"/hook", body)
		wantStatus(t, resp, err, http.StatusOK)
	}
	// An answer comes after its record: no wait is needed.
	got := server.Requests()
	if len(got) != 2 {
		t.Fatalf("%d requests recorded, want 2", len(got))
	}
	for i, body := range []string{"one", "two"} {
		r := got[i]
		if r.Number != i+1 || r.Method != http.MethodPost || r.Path != "/hook" || string(r.Body) != body ||
			r.Header.Get("X-Event-Id") != body || !r.Processed || r.Status != http.StatusOK {
			t.Errorf("request %d is recorded as %+v", i, r)
		}
	}
}

func TestServer_FailsAsTold(t *testing.T) {
	var calls atomic.Int32
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("the handler reads the body: %v", err)
		}
		w.Header().Set("X-Handled", "yes")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(body)
	})
	server := outboxtest.NewServer(t, handler)
	server.FailNext(
		outboxtest.Status(http.StatusInternalServerError),
		outboxtest.RetryAfter(http.StatusServiceUnavailable, "120"),
		outboxtest.Fault{Cut: outboxtest.CutBefore},
		outboxtest.Fault{Cut: outboxtest.CutAfter},
	)
	c := client(t)

	resp, err := post(t, c, server.URL(), "1")
	wantStatus(t, resp, err, http.StatusInternalServerError)
	resp, err = post(t, c, server.URL(), "2")
	wantStatus(t, resp, err, http.StatusServiceUnavailable)
	if got := resp.Header.Get("Retry-After"); got != "120" {
		t.Errorf("Retry-After is %q", got)
	}
	if _, err := post(t, c, server.URL(), "3"); !errors.Is(err, io.EOF) {
		t.Errorf("cut before: %v, want EOF", err)
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("the handler was called %d times before it should", n)
	}
	if _, err := post(t, c, server.URL(), "4"); !errors.Is(err, io.EOF) {
		t.Errorf("cut after: %v, want EOF", err)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the handler was called %d times, want once", n)
	}
	resp, err = post(t, c, server.URL(), "5")
	if body := wantStatus(t, resp, err, http.StatusAccepted); body != "5" || resp.Header.Get("X-Handled") != "yes" {
		t.Errorf("without a fault the handler answers; got %q and %v", body, resp.Header)
	}
	for i, want := range []struct {
		processed bool
		status    int
	}{{false, 500}, {false, 503}, {false, 0}, {true, 0}, {true, 202}} {
		if r := server.Requests()[i]; r.Processed != want.processed || r.Status != want.status {
			t.Errorf("request %d: processed %t, status %d; want %t, %d", i+1, r.Processed, r.Status, want.processed, want.status)
		}
	}
}

func TestServer_HoldsARequestUntilReleased(t *testing.T) {
	release := make(chan struct{})
	server := outboxtest.NewFaultyServer(t, nil, func(r outboxtest.Request) outboxtest.Fault {
		if string(r.Body) == "held" {
			return outboxtest.Fault{Hold: release}
		}
		return outboxtest.Fault{}
	})
	c := client(t)
	done := make(chan error, 1)
	go func() {
		resp, err := post(t, c, server.URL(), "held")
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	if err := server.WaitArrived(bounded(t), 1); err != nil {
		t.Fatal(err)
	}
	resp, err := post(t, c, server.URL(), "passes")
	wantStatus(t, resp, err, http.StatusOK)
	if got := server.Requests(); len(got) != 1 || string(got[0].Body) != "passes" {
		t.Fatalf("recorded %d requests while one is held", len(got))
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got, err := server.Wait(bounded(t), 2); err != nil || !got[1].Processed {
		t.Fatalf("after the release: %v, %v", got, err)
	}
}

func TestServer_LetsGoOfWhatIsHeldWhenItCloses(t *testing.T) {
	c := client(t)
	done := make(chan error, 1)
	t.Run("held", func(t *testing.T) {
		server := outboxtest.NewServer(t, nil)
		server.FailNext(outboxtest.Fault{Hold: make(chan struct{})})
		url := server.URL()
		go func() {
			req, err := http.NewRequest(http.MethodPost, url, nil)
			if err == nil {
				_, err = c.Do(req)
			}
			done <- err
		}()
		if err := server.WaitArrived(bounded(t), 1); err != nil {
			t.Fatal(err)
		}
	})
	if err := <-done; err == nil {
		t.Error("a request that was held when the server closed got an answer")
	}
}

func TestServer_TricklesTheBody(t *testing.T) {
	step := make(chan struct{})
	server := outboxtest.NewServer(t, nil)
	server.FailNext(outboxtest.Fault{Status: http.StatusOK, Body: []byte("slow"), Trickle: step})
	resp, err := post(t, client(t), server.URL(), "x") // the head comes before any byte of the body
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got bytes.Buffer
	for range 2 {
		step <- struct{}{}
		if _, err := io.CopyN(&got, resp.Body, 1); err != nil {
			t.Fatal(err)
		}
	}
	if got.String() != "sl" {
		t.Fatalf("after two steps %q came", got.String())
	}
	close(step)
	if _, err := io.Copy(&got, resp.Body); err != nil || got.String() != "slow" {
		t.Fatalf("after the end %q, %v", got.String(), err)
	}
}

func TestServer_RecordsABodyThatBreaksOff(t *testing.T) {
	seen := make(chan error, 1)
	server := outboxtest.NewServer(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		seen <- err
	}))
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := server.Wait(bounded(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	if string(got[0].Body) != "half" || got[0].BodyErr == nil {
		t.Errorf("recorded body %q, error %v", got[0].Body, got[0].BodyErr)
	}
	if err := <-seen; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the handler's read ended with %v, want unexpected EOF", err)
	}
}

func TestServer_WaitEndsWithItsContext(t *testing.T) {
	server := outboxtest.NewServer(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := server.Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v, want context.Canceled", err)
	}
	if err := server.WaitArrived(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("WaitArrived = %v, want context.Canceled", err)
	}
}
