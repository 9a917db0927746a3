package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

func TestDo_ReturnsWhatTheCallReturns(t *testing.T) {
	b := newBreaker(t, breaker.Config{})
	n, err := breaker.Do(t.Context(), b, func(context.Context) (int, error) { return 7, errDown })
	if n != 7 || err != errDown {
		t.Fatalf("Do: %d, %v", n, err)
	}
}

func panicDeepInTheCall(context.Context) (struct{}, error) { panic("lost") }

func TestDo_PanicCountsAndKeepsItsStack(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{HalfOpenMaxCalls: 1})
	func() {
		defer func() {
			if v := recover(); v != "lost" {
				t.Errorf("recovered %v, want the call's own panic", v)
			}
			// Nobody recovered before, so the stack still shows its origin.
			if stack := string(debug.Stack()); !strings.Contains(stack, "panicDeepInTheCall") {
				t.Errorf("the panic's stack is gone:\n%s", stack)
			}
		}()
		_, _ = breaker.Do(t.Context(), b, panicDeepInTheCall)
	}()
	wantState(t, b, breaker.Open)
}

func TestDo_PanicsOpenTheBreaker(t *testing.T) {
	b := newBreaker(t, breaker.Config{})
	for range 3 {
		func() {
			defer func() { _ = recover() }()
			_, _ = breaker.Do(t.Context(), b, panicDeepInTheCall)
		}()
	}
	wantState(t, b, breaker.Open)
}

func TestDo_GoexitCounts(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{HalfOpenMaxCalls: 1})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = breaker.Do(context.Background(), b, func(context.Context) (struct{}, error) {
			runtime.Goexit()
			return struct{}{}, nil
		})
	}()
	<-ended
	wantState(t, b, breaker.Open)
}

func TestDo_ClassifierPanics(t *testing.T) {
	var broken atomic.Bool
	b, _ := halfOpen(t, breaker.Config{HalfOpenMaxCalls: 1, Classify: func(ctx context.Context, err error) breaker.Outcome {
		if broken.Load() {
			panic("classifier")
		}
		return breaker.DefaultClassify(ctx, err)
	}})
	broken.Store(true)
	for _, call := range []func(){
		func() { _, _ = breaker.Do(t.Context(), b, succeed) },
		func() { acquire(t, b).DoneError(t.Context(), errDown) },
	} {
		func() {
			defer func() {
				if v := recover(); v != "classifier" {
					t.Errorf("recovered %v", v)
				}
			}()
			call()
		}()
		wantState(t, b, breaker.HalfOpen)
		if b.Room() != 1 {
			t.Fatalf("room %d: the slot is lost", b.Room())
		}
	}
	broken.Store(false)
	if _, err := breaker.Do(t.Context(), b, succeed); err != nil {
		t.Fatal(err)
	}
	wantState(t, b, breaker.Closed)
}

func TestDo_CustomClassify(t *testing.T) {
	notFound := errors.New("not found")
	b := newBreaker(t, breaker.Config{FailureThreshold: 1, Classify: func(ctx context.Context, err error) breaker.Outcome {
		if errors.Is(err, notFound) {
			return breaker.Success
		}
		return breaker.DefaultClassify(ctx, err)
	}})
	_, _ = breaker.Do(t.Context(), b, func(context.Context) (struct{}, error) { return struct{}{}, notFound })
	wantState(t, b, breaker.Closed)
	_, _ = breaker.Do(t.Context(), b, fail)
	wantState(t, b, breaker.Open)
}

func TestDo_Cancellation(t *testing.T) {
	slow := func(ctx context.Context) (struct{}, error) {
		<-ctx.Done()
		return struct{}{}, ctx.Err()
	}
	perCall := func(ctx context.Context) (struct{}, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return slow(ctx)
	}
	for _, c := range []struct {
		name string
		call func(b *breaker.Breaker, t *testing.T)
		want breaker.State
	}{
		{"the caller cancels: neutral", func(b *breaker.Breaker, t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, _ = breaker.Do(ctx, b, slow)
		}, breaker.Closed},
		{"the caller cancels and the call wraps it away: neutral", func(b *breaker.Breaker, t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			_, _ = breaker.Do(ctx, b, func(context.Context) (struct{}, error) {
				cancel()
				return struct{}{}, errors.New("driver: connection torn down")
			})
		}, breaker.Closed},
		{"our own limit per call ends: failure", func(b *breaker.Breaker, t *testing.T) {
			_, _ = breaker.Do(t.Context(), b, perCall)
		}, breaker.Open},
		{"the caller's deadline ends: failure", func(b *breaker.Breaker, t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, _ = breaker.Do(ctx, b, slow)
		}, breaker.Open},
		{"somebody else's cancellation: failure", func(b *breaker.Breaker, t *testing.T) {
			_, _ = breaker.Do(t.Context(), b, func(context.Context) (struct{}, error) {
				return struct{}{}, context.Canceled
			})
		}, breaker.Open},
		{"an ignored error: neutral", func(b *breaker.Breaker, t *testing.T) {
			_, err := breaker.Do(t.Context(), b, func(context.Context) (struct{}, error) {
				return struct{}{}, fmt.Errorf("sign: %w", breaker.Ignore(errDown))
			})
			if !errors.Is(err, errDown) {
				t.Errorf("Ignore hides the error: %v", err)
			}
		}, breaker.Closed},
		{"a refusal of another breaker: neutral", func(b *breaker.Breaker, t *testing.T) {
			inner := newBreaker(t, breaker.Config{})
			inner.ForceOpen()
			_, _ = breaker.Do(t.Context(), b, func(ctx context.Context) (struct{}, error) {
				return breaker.Do(ctx, inner, succeed)
			})
		}, breaker.Closed},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, breaker.Config{})
				report(t, b, breaker.Failure, 2) // F F and then the call
				c.call(b, t)
				wantState(t, b, c.want)
				if c.want == breaker.Closed {
					report(t, b, breaker.Failure, 1) // F F cancel F opens
					wantState(t, b, breaker.Open)
				}
			})
		})
	}
}

func TestProbe_CancelledGivesSlotBack(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{HalfOpenMaxCalls: 1})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := breaker.Do(ctx, b, func(ctx context.Context) (struct{}, error) {
		cancel()
		return struct{}{}, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	wantState(t, b, breaker.HalfOpen)
	if b.Room() != 1 {
		t.Fatalf("room %d, want the slot back", b.Room())
	}
}

var errPoolFull = errors.New("pool full")

func TestDo_LimiterInsideTakesNoProbe(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{HalfOpenMaxCalls: 1})
	for range 10 {
		_, err := breaker.Do(t.Context(), b, func(context.Context) (struct{}, error) {
			return struct{}{}, breaker.Ignore(errPoolFull)
		})
		if !errors.Is(err, errPoolFull) {
			t.Fatal(err)
		}
	}
	report(t, b, breaker.Success, 1)
	wantState(t, b, breaker.Closed)
}

func TestDo_LimiterOutsideIsReleased(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{HalfOpenMaxCalls: 1})
	pool := make(chan struct{}, 1)
	pooled := func() error {
		pool <- struct{}{}
		defer func() { <-pool }()
		_, err := breaker.Do(t.Context(), b, succeed)
		return err
	}
	probe := acquire(t, b)
	for range 10 {
		if err := pooled(); !errors.Is(err, breaker.ErrOpen) {
			t.Fatal(err)
		}
	}
	if len(pool) != 0 {
		t.Fatal("the refused calls kept the pool")
	}
	probe.Done(breaker.Success)
	if err := pooled(); err != nil {
		t.Fatal(err)
	}
}

func TestIgnore_Nil(t *testing.T) {
	if breaker.Ignore(nil) != nil {
		t.Fatal("Ignore(nil) is an error")
	}
}
