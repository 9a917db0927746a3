package main

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/sony/gobreaker/v2"
)

// path is one way through a breaker, which every contestant takes. The first
// contestant is ours.
type path struct {
	name        string
	parallel    mode
	contestants []contestant
}

type mode int

const (
	serial mode = iota
	parallel
)

func (p path) goroutines() int {
	if p.parallel == parallel {
		return max(2, runtime.GOMAXPROCS(0))
	}
	return 1
}

// contestant makes one call of a breaker in the path's state.
type contestant struct {
	name string
	make func() (call func(), err error)
}

var (
	errDown = errors.New("endpoint down")
	long    = time.Hour
	seconds = 10 * time.Second
)

var paths = []path{
	{"closed, wrapped call", serial, wrapped(consecutive)},
	{"closed, wrapped call, parallel", parallel, wrapped(consecutive)},
	{"closed, permit", serial, permits(consecutive)},
	{"closed, permit, parallel", parallel, permits(consecutive)},
	{"open, wrapped call", serial, wrapped(opened)},
	{"open, permit", serial, permits(opened)},
	{"open, permit, parallel", parallel, permits(opened)},
	{"time window, wrapped call", serial, wrapped(timeWindow)},
	{"time window, wrapped call, parallel", parallel, wrapped(timeWindow)},
	{"time window, permit", serial, permits(timeWindow)},
	// gobreaker has no window of calls; its time window stands for it.
	{"count window, wrapped call", serial, wrapped(countWindow)},
}

// setup makes the three breakers in one state.
type setup func() (*breaker.Breaker, gobreaker.Settings, circuitbreaker.CircuitBreaker[int], error)

func consecutive() (*breaker.Breaker, gobreaker.Settings, circuitbreaker.CircuitBreaker[int], error) {
	b, err := breaker.New(breaker.Config{FailureThreshold: 3})
	return b, gobreaker.Settings{ReadyToTrip: three}, circuitbreaker.NewBuilder[int]().WithFailureThreshold(3).Build(), err
}

func opened() (*breaker.Breaker, gobreaker.Settings, circuitbreaker.CircuitBreaker[int], error) {
	b, err := breaker.New(breaker.Config{FailureThreshold: 3, RecoveryTime: long})
	if err != nil {
		return nil, gobreaker.Settings{}, nil, err
	}
	b.OpenFor(long)
	f := circuitbreaker.NewBuilder[int]().WithFailureThreshold(3).WithDelay(long).Build()
	f.Open()
	return b, gobreaker.Settings{Timeout: long, ReadyToTrip: three}, f, nil
}

func timeWindow() (*breaker.Breaker, gobreaker.Settings, circuitbreaker.CircuitBreaker[int], error) {
	b, err := breaker.New(breaker.Config{Window: breaker.Window{Width: seconds, Buckets: 10, FailureRate: 50}})
	return b, gobreaker.Settings{Interval: seconds, BucketPeriod: seconds / 10, ReadyToTrip: half},
		circuitbreaker.NewBuilder[int]().WithFailureRateThreshold(0.5, 10, seconds).Build(), err
}

func countWindow() (*breaker.Breaker, gobreaker.Settings, circuitbreaker.CircuitBreaker[int], error) {
	b, err := breaker.New(breaker.Config{Window: breaker.Window{Calls: 100, FailureRate: 50}})
	return b, gobreaker.Settings{Interval: seconds, BucketPeriod: seconds / 10, ReadyToTrip: half},
		circuitbreaker.NewBuilder[int]().WithFailureThresholdRatio(50, 100).Build(), err
}

func three(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 3 }

func half(c gobreaker.Counts) bool { return c.Requests >= 10 && 2*c.TotalFailures >= c.Requests }

func work() (int, error) { return 7, nil }

func workWithContext(context.Context) (int, error) { return 7, nil }

// wrapped are the calls of a function through each breaker.
func wrapped(s setup) []contestant {
	return []contestant{
		{"outboxgen", func() (func(), error) {
			b, _, _, err := s()
			ctx := context.Background()
			return func() { _, _ = breaker.Do(ctx, b, workWithContext) }, err
		}},
		{"gobreaker", func() (func(), error) {
			b, settings, _, err := s()
			g := gobreaker.NewCircuitBreaker[int](settings)
			if b.State() == breaker.Open {
				for range 3 {
					_, _ = g.Execute(func() (int, error) { return 0, errDown })
				}
			}
			return func() { _, _ = g.Execute(work) }, err
		}},
		{"failsafe-go", func() (func(), error) {
			_, _, f, err := s()
			executor := failsafe.With(f)
			return func() { _, _ = executor.Get(work) }, err
		}},
	}
}

// permits are calls that the breaker does not wrap.
func permits(s setup) []contestant {
	return []contestant{
		{"outboxgen", func() (func(), error) {
			b, _, _, err := s()
			return func() {
				if p, err := b.TryAcquire(); err == nil {
					p.Done(breaker.Success)
				}
			}, err
		}},
		{"gobreaker", func() (func(), error) {
			b, settings, _, err := s()
			g := gobreaker.NewTwoStepCircuitBreaker[int](settings)
			if b.State() == breaker.Open {
				for range 3 {
					if done, err := g.Allow(); err == nil {
						done(errDown)
					}
				}
			}
			return func() {
				if done, err := g.Allow(); err == nil {
					done(nil)
				}
			}, err
		}},
		{"failsafe-go", func() (func(), error) {
			_, _, f, err := s()
			return func() {
				if f.TryAcquirePermit() {
					f.RecordSuccess()
				}
			}, err
		}},
	}
}
