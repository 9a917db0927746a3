package breaker_test

import (
	"sync/atomic"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

func TestPermit_CountsOnce(t *testing.T) {
	b := newBreaker(t, breaker.Config{})
	p := acquire(t, b)
	copied := p
	crowd(8, func() { copied.Done(breaker.Failure) })
	p.Done(breaker.Failure)
	p.DoneError(t.Context(), errDown)
	if n := b.Counts().Failures; n != 1 {
		t.Fatalf("%d failures of one call", n)
	}
	// The memory of a reported permit is used again: an old one must not
	// speak for the new.
	report(t, b, breaker.Success, 1)
	next := acquire(t, b)
	p.Done(breaker.Failure)
	next.Done(breaker.Success)
	if c := b.Counts(); c.Failures != 1 || c.Successes != 2 {
		t.Fatalf("counts %+v", c)
	}
}

func TestPermit_ZeroDoesNothing(t *testing.T) {
	var p breaker.Permit
	p.Done(breaker.Failure)
	p.DoneError(t.Context(), errDown)
}

func TestPermit_Then(t *testing.T) {
	b := newBreaker(t, breaker.Config{})
	var calls atomic.Int64
	p := acquire(t, b)
	p.Then(func(o breaker.Outcome) {
		if calls.Add(1); o != breaker.Failure || b.Counts().Failures != 1 {
			t.Errorf("told %v with %d failures counted", o, b.Counts().Failures)
		}
	})
	crowd(8, func() { p.DoneError(t.Context(), errDown) })
	if calls.Load() != 1 {
		t.Fatalf("told %d times", calls.Load())
	}
	// The record's next user must not be told of.
	report(t, b, breaker.Failure, 1)
	if calls.Load() != 1 || b.Counts().Failures != 2 {
		t.Fatal("a permit told the listener of an earlier one")
	}
	breaker.Permit{}.Then(nil)
}

func TestPaths_DoNotAllocate(t *testing.T) {
	closed := newBreaker(t, breaker.Config{})
	open := newBreaker(t, breaker.Config{})
	report(t, open, breaker.Failure, 3)
	probing, _ := halfOpen(t, breaker.Config{})
	acquire(t, probing)
	acquire(t, probing)
	edge := newBreaker(t, breaker.Config{})
	report(t, edge, breaker.Failure, 2)
	acquire(t, edge)
	rates := newBreaker(t, breaker.Config{Window: breaker.Window{Calls: 100}})
	for _, c := range []struct {
		name string
		call func()
	}{
		{"Do closed", func() { _, _ = breaker.Do(t.Context(), closed, succeed) }},
		{"Do open", func() { _, _ = breaker.Do(t.Context(), open, succeed) }},
		{"Do window", func() { _, _ = breaker.Do(t.Context(), rates, succeed) }},
		{"TryAcquire open", func() { _, _ = open.TryAcquire() }},
		{"TryAcquire half-open", func() { _, _ = probing.TryAcquire() }},
		{"TryAcquire suspect", func() { _, _ = edge.TryAcquire() }},
		{"Room, State, RetryIn", func() { _, _, _ = open.Room(), open.State(), open.RetryIn() }},
		{"Counts", func() { _ = closed.Counts() }},
	} {
		if n := testing.AllocsPerRun(1000, c.call); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
	// The race detector makes sync.Pool drop records at random.
	if n := testing.AllocsPerRun(1000, func() { acquire(t, closed).Done(breaker.Success) }); n != 0 && !raceEnabled {
		t.Errorf("TryAcquire and Done: %v allocations", n)
	}
}
