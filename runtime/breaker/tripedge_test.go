package breaker_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// crowd starts n goroutines at once and waits for all of them.
func crowd(n int, call func()) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			<-start
			call()
		})
	}
	close(start)
	wg.Wait()
}

// callers are the two ways to meet the trip edge. Each makes one call whose
// work is run, and returns its error.
var callers = map[string]func(b *breaker.Breaker, run func() error) error{
	"reject": func(b *breaker.Breaker, run func() error) error {
		p, err := b.TryAcquire()
		if err != nil {
			return err
		}
		err = run()
		p.DoneError(context.Background(), err)
		return err
	},
	"wait": func(b *breaker.Breaker, run func() error) error {
		_, err := breaker.Do(context.Background(), b, func(context.Context) (struct{}, error) {
			return struct{}{}, run()
		})
		return err
	},
}

func TestTripEdge_50CallersCostOneCall(t *testing.T) {
	for name, call := range callers {
		t.Run(name, func(t *testing.T) {
			for range rounds() {
				b := newBreaker(t, breaker.Config{})
				report(t, b, breaker.Failure, 2)
				var ran, refused atomic.Int64
				crowd(50, func() {
					err := call(b, func() error { ran.Add(1); return errDown })
					if errors.Is(err, breaker.ErrOpen) {
						refused.Add(1)
					}
				})
				if ran.Load() != 1 || refused.Load() != 49 {
					t.Fatalf("%d calls ran and %d were refused, want 1 and 49", ran.Load(), refused.Load())
				}
				wantState(t, b, breaker.Open)
			}
		})
	}
}

func TestTripEdge_WaitersRunAfterSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, breaker.Config{})
		report(t, b, breaker.Failure, 2)
		suspect := acquire(t, b)
		var ran atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := breaker.Do(t.Context(), b, func(context.Context) (struct{}, error) {
					ran.Add(1)
					return struct{}{}, nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if ran.Load() != 0 {
			t.Fatalf("%d calls ran before the verdict", ran.Load())
		}
		start := time.Now()
		suspect.Done(breaker.Success)
		wg.Wait()
		if ran.Load() != 50 || time.Since(start) != 0 {
			t.Fatalf("%d calls ran %v after it, want 50 at once", ran.Load(), time.Since(start))
		}
	})
}

func TestTripEdge_AtMostThresholdLessFailuresRun(t *testing.T) {
	for failures := 1; failures < 5; failures++ {
		b := newBreaker(t, breaker.Config{FailureThreshold: 5})
		if b.Room() != math.MaxInt {
			t.Fatalf("room %d with no failure, want no limit", b.Room())
		}
		report(t, b, breaker.Failure, failures)
		for room := 5 - failures; room > 0; room-- {
			if b.Room() != room {
				t.Fatalf("room %d after %d failures, want %d", b.Room(), failures, room)
			}
			acquire(t, b)
		}
		refusal(t, b, breaker.ReasonSuspect)
		if b.Room() != 0 || b.RetryIn() <= 0 {
			t.Fatalf("room %d, retry in %v at the edge", b.Room(), b.RetryIn())
		}
	}
}

// A call that was admitted before the first failure is not bounded, and its
// failure counts: the overshoot that the package comment admits.
func TestTripEdge_CallsUnderWayOvershoot(t *testing.T) {
	b := newBreaker(t, breaker.Config{})
	early := []breaker.Permit{acquire(t, b), acquire(t, b), acquire(t, b), acquire(t, b)}
	for _, p := range early[:2] {
		p.Done(breaker.Failure)
	}
	acquire(t, b)
	refusal(t, b, breaker.ReasonSuspect)
	early[2].Done(breaker.Failure)
	wantState(t, b, breaker.Open)
	early[3].Done(breaker.Failure)
	if n := b.Counts().Stale; n != 1 {
		t.Fatalf("%d stale results, want 1", n)
	}
}

func TestTripEdge_WaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, breaker.Config{})
		report(t, b, breaker.Failure, 2)
		suspect := acquire(t, b)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Acquire: %v, want the context's error", err)
		}
		suspect.Done(breaker.Success)
		wantState(t, b, breaker.Closed)
	})
}

func TestTripEdge_NeutralLetsTheNextOneTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, breaker.Config{})
		report(t, b, breaker.Failure, 2)
		suspect := acquire(t, b)
		admitted := make(chan breaker.Permit)
		go func() {
			p, err := b.Acquire(t.Context())
			if err != nil {
				t.Error(err)
			}
			admitted <- p
		}()
		synctest.Wait()
		start := time.Now()
		suspect.Done(breaker.Neutral)
		p := <-admitted
		if waited := time.Since(start); waited != 0 {
			t.Fatalf("waited %v for a free slot", waited)
		}
		refusal(t, b, breaker.ReasonSuspect)
		p.Done(breaker.Failure)
		wantState(t, b, breaker.Open)
	})
}

func TestTripEdge_HungCallLosesItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, breaker.Config{Lease: 5 * time.Second})
		report(t, b, breaker.Failure, 2)
		hung := acquire(t, b)
		start := time.Now()
		p, err := b.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited != 5*time.Second {
			t.Fatalf("waited %v for the slot, want the lease of 5s", waited)
		}
		refusal(t, b, breaker.ReasonSuspect)
		// Its answer still speaks of this endpoint, but the slot is another's.
		hung.Done(breaker.Success)
		if n := b.Counts().ConsecutiveFailures; n != 0 {
			t.Fatalf("%d failures after a success", n)
		}
		p.Done(breaker.Success)
		wantState(t, b, breaker.Closed)
	})
}

func TestClosed_ParallelFailuresTrip(t *testing.T) {
	for range rounds() {
		b := newBreaker(t, breaker.Config{FailureThreshold: 8})
		var permits []breaker.Permit
		for range 8 {
			permits = append(permits, acquire(t, b))
		}
		var next atomic.Int64
		crowd(8, func() { permits[next.Add(1)-1].Done(breaker.Failure) })
		wantState(t, b, breaker.Open)
	}
}

func TestClosed_SuccessForgetsFailures(t *testing.T) {
	b := newBreaker(t, breaker.Config{})
	for range 10 {
		report(t, b, breaker.Failure, 2)
		report(t, b, breaker.Neutral, 2) // counts nowhere
		report(t, b, breaker.Success, 1)
	}
	wantState(t, b, breaker.Closed)
	report(t, b, breaker.Failure, 2)
	report(t, b, breaker.Neutral, 1)
	report(t, b, breaker.Failure, 1)
	wantState(t, b, breaker.Open)
}
