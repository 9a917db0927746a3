package outbox

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

func TestHandlerConfig_OrTakesZeroFieldsFromTheDefaults(t *testing.T) {
	spec := HandlerConfig{
		Timeout: time.Second, MaxInFlight: 3, MaxAge: time.Hour, Retry: RetryPolicy{5, 2, 3},
		Breaker: breaker.Config{FailureThreshold: 9, RecoveryTime: time.Minute},
	}
	if got := (HandlerConfig{}).Or(spec); got.Timeout != time.Second || got.MaxInFlight != 3 || got.MaxAge != time.Hour || got.Retry != spec.Retry || got.Breaker.FailureThreshold != 9 {
		t.Errorf("got %+v", got)
	}
	got := HandlerConfig{Timeout: 7, MaxAge: -1, Retry: RetryPolicy{MaxAttempts: 1}, Breaker: breaker.Config{FailureThreshold: 1}, NoBreaker: true}.Or(spec)
	if got.Timeout != 7 || got.MaxAge != -1 || got.Retry != (RetryPolicy{1, 2, 3}) || got.Breaker.FailureThreshold != 1 || got.Breaker.RecoveryTime != time.Minute || !got.NoBreaker {
		t.Errorf("got %+v", got)
	}
}

func TestHandlerDestination_FillsInDefaultsAndRefusesFaults(t *testing.T) {
	h := HandlerFunc(func(context.Context, *Delivery) error { return nil })
	dest, err := HandlerDestination("audit", h, HandlerConfig{MaxAge: -1})
	if err != nil {
		t.Fatal(err)
	}
	if dest.Name != "audit" || dest.Timeout != DefaultTimeout || dest.MaxInFlight != DefaultMaxInFlight || dest.Retry != DefaultRetry || dest.MaxAge != 0 || dest.Breaker == nil {
		t.Errorf("got %+v", dest)
	}
	shared := newBreaker(t, breaker.Config{})
	if dest, err := HandlerDestination("audit", h, HandlerConfig{SharedBreaker: shared}); err != nil || dest.Breaker != Breaker(shared) {
		t.Errorf("shared breaker: %v, %v", dest.Breaker, err)
	}
	if dest, err := HandlerDestination("audit", h, HandlerConfig{NoBreaker: true}); err != nil || dest.Breaker != nil {
		t.Errorf("no breaker: %v, %v", dest.Breaker, err)
	}
	for want, make := range map[string]func() (Destination, error){
		"audit: its handler is nil":   func() (Destination, error) { return HandlerDestination("audit", nil, HandlerConfig{}) },
		"audit: its publisher is nil": func() (Destination, error) { return PublisherDestination("audit", nil, HandlerConfig{}) },
		"no name":                     func() (Destination, error) { return HandlerDestination("", h, HandlerConfig{}) },
		"timeout is -1ns":             func() (Destination, error) { return HandlerDestination("a", h, HandlerConfig{Timeout: -1}) },
		"FailureThreshold is -1": func() (Destination, error) {
			return HandlerDestination("a", h, HandlerConfig{Breaker: breaker.Config{FailureThreshold: -1}})
		},
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// A probe that could outlive its slot's lease would never be counted.
func TestHandlerDestination_BreakerLeaseOutlastsTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		fails := true
		dest, err := HandlerDestination("a", HandlerFunc(func(ctx context.Context, d *Delivery) error {
			if fails {
				fails = false
				return context.DeadlineExceeded
			}
			time.Sleep(9 * time.Minute)
			return nil
		}), HandlerConfig{Timeout: 10 * time.Minute, Breaker: breaker.Config{FailureThreshold: 1, HalfOpenMaxCalls: 1}})
		if err != nil {
			t.Fatal(err)
		}
		start(t, s, Config{}, dest)
		s.await(all(Published))
		if got := dest.Breaker.State(); got != breaker.Closed {
			t.Errorf("after a slow probe that succeeded the breaker is %v", got)
		}
	})
}

func TestHandler_ContextCarriesDeadlineAndTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		e := s.put("", "a")
		e.Trace = Trace{Parent: "00-1-2-01"}
		var trace Trace
		var left time.Duration
		dest, err := PublisherDestination("a", publisherFunc(func(ctx context.Context, _ *Delivery) error {
			trace = TraceFromContext(ctx)
			deadline, _ := ctx.Deadline()
			left = time.Until(deadline)
			return nil
		}), HandlerConfig{Timeout: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		_, stop := start(t, s, Config{}, dest)
		s.await(all(Published))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if trace != e.Trace || left != 3*time.Second {
			t.Errorf("trace %+v, %v left", trace, left)
		}
	})
}

type publisherFunc func(ctx context.Context, d *Delivery) error

func (f publisherFunc) Publish(ctx context.Context, d *Delivery) error { return f(ctx, d) }
