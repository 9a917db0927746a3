package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	hookEvents   = 10_000
	hookInFlight = 16
)

func measureWebhook(ctx context.Context, r *report) error {
	var first atomic.Pointer[http.Header]
	var handled atomic.Pointer[func()]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if first.Load() == nil {
			h := req.Header.Clone()
			first.Store(&h)
		}
		_, _ = io.Copy(io.Discard, req.Body)
		w.WriteHeader(http.StatusNoContent)
		(*handled.Load())()
	}))
	defer server.Close()
	os.Setenv("BENCH_URL", server.URL)

	var ourRates, bareRates []float64
	for range *rounds {
		err := onEach(ctx, 1, openers[1:2], func(_ opener, s subject) error {
			o := s.(*ours)
			if err := o.fill(ctx, hookEvents, o.posted); err != nil {
				return err
			}
			var n atomic.Int64
			all := make(chan struct{})
			count := func() {
				if n.Add(1) == hookEvents {
					close(all)
				}
			}
			handled.Store(&count)
			started := time.Now()
			stop, err := o.start(ctx, 0, func([]byte) {})
			if err != nil {
				return err
			}
			<-all
			for left := 1; left > 0; {
				if left, err = o.waiting(ctx); err != nil {
					return err
				}
			}
			ourRates = append(ourRates, hookEvents/time.Since(started).Seconds())
			return stop()
		})
		if err != nil {
			return err
		}
		nothing := func() {}
		handled.Store(&nothing)
		rate, err := bareLoop(ctx, server.URL, *first.Load())
		if err != nil {
			return err
		}
		bareRates = append(bareRates, rate)
	}
	what := "drain 10,000 to a loopback webhook, 16 in flight"
	r.rate(what, "outboxgen", median(ourRates))
	r.rate(what, "bare http.Client", median(bareRates))
	r.atLeast("loopback webhook: of a bare http.Client loop", median(ourRates)/median(bareRates), 0.85)
	return nil
}

// bareLoop posts the same requests, headers and all, from 16 goroutines.
func bareLoop(ctx context.Context, url string, header http.Header) (float64, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: hookInFlight}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	started := time.Now()
	for range hookInFlight {
		wg.Go(func() {
			for {
				id := next.Add(1)
				if id > hookEvents || failed.Load() != nil {
					return
				}
				if err := post(ctx, client, url, header, payload(int(id))); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return hookEvents / time.Since(started).Seconds(), nil
}

func post(ctx context.Context, client *http.Client, url string, header http.Header, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header.Clone()
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("answered %s", resp.Status)
	}
	return nil
}
