package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

func ExampleDo() {
	b, err := breaker.New(breaker.Config{Name: "rates"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fetch := func(ctx context.Context) (float64, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second) // shorter than the lease
		defer cancel()
		return 0, errors.New("connection refused") // what the endpoint answers just now
	}
	for range 4 {
		_, err := breaker.Do(context.Background(), b, fetch)
		if errors.Is(err, breaker.ErrOpen) {
			fmt.Println("refused: the endpoint is left alone")
			continue
		}
		fmt.Println(err)
	}
	// Output:
	// connection refused
	// connection refused
	// connection refused
	// refused: the endpoint is left alone
}

// A worker that cannot wrap its call takes a permit, and comes back when told.
func ExampleBreaker_TryAcquire() {
	b, err := breaker.New(breaker.Config{FailureThreshold: 1, RecoveryTime: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	work := func() error { return errors.New("endpoint down") }
	for range 2 {
		permit, err := b.TryAcquire()
		if open, ok := errors.AsType[*breaker.OpenError](err); ok {
			fmt.Println(open.Reason, open.RetryIn() > 59*time.Second)
			continue
		}
		if work() != nil {
			permit.Done(breaker.Failure)
		} else {
			permit.Done(breaker.Success)
		}
		fmt.Println(b.State())
	}
	// Output:
	// OPEN
	// open true
}

// A client whose hosts each have a breaker.
func ExampleTransport() {
	hosts, err := breaker.NewRegistry(breaker.Config{FailureThreshold: 2}, 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{
		Transport: &breaker.Transport{Breakers: hosts},
		Timeout:   10 * time.Second,
	}
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer down.Close()
	for range 3 {
		resp, err := client.Get(down.URL)
		if err != nil {
			fmt.Println(errors.Is(err, breaker.ErrOpen))
			continue
		}
		fmt.Println(resp.Status)
		_ = resp.Body.Close()
	}
	client.CloseIdleConnections()
	// Output:
	// 503 Service Unavailable
	// 503 Service Unavailable
	// true
}

// Half of the last minute's calls failed, or a fifth took over two seconds:
// open, once there were 20 calls.
func ExampleWindow() {
	b, err := breaker.New(breaker.Config{
		Window: breaker.Window{
			Width:        time.Minute,
			MinimumCalls: 20,
			FailureRate:  50,
			SlowCallRate: 20,
			SlowCall:     2 * time.Second,
		},
		// Ten failures in a row open it too, and guard the trip edge.
		FailureThreshold: 10,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 20 {
		_, _ = breaker.Do(context.Background(), b, func(context.Context) (int, error) {
			if i%2 == 0 {
				return 0, errors.New("every other call fails")
			}
			return i, nil
		})
	}
	fmt.Println(b.State())
	// Output: OPEN
}

func ExampleConfig_logger() {
	logger := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key { // what differs from run to run
			case slog.TimeKey, "latency_ms", "backoff_seconds", "remaining_seconds":
				return slog.Attr{}
			}
			return a
		},
	}))
	b, err := breaker.New(breaker.Config{Name: "billing", FailureThreshold: 1, Logger: logger})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = breaker.Do(context.Background(), b, func(context.Context) (int, error) {
		return 0, context.DeadlineExceeded
	})
	_ = b.Flush(context.Background()) // before the program ends
	// Output:
	// {"level":"WARN","msg":"circuit breaker: state_transition_closed_to_open","circuit_name":"billing","state":"OPEN","event":"state_transition_closed_to_open","consecutive_failures":1,"half_open_successes":0,"error_type":"timeout","generation":2,"reason":"failures"}
}

func ExampleFullJitter() {
	highest := func(n int64) int64 { return n - 1 } // of what may be drawn
	for _, attempt := range []int{0, 1, 2, 5, 1_000_000} {
		fmt.Println(breaker.FullJitter(500*time.Millisecond, 5*time.Second, attempt, highest))
	}
	// Output:
	// 500ms
	// 1s
	// 2s
	// 5s
	// 5s
}
