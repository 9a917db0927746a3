package breaker_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// halfOpen trips a breaker and waits for its recovery time.
func halfOpen(t testing.TB, c breaker.Config) (*breaker.Breaker, *fakeClock) {
	t.Helper()
	clock := new(fakeClock)
	c.Now = clock.Now
	b := newBreaker(t, c)
	for b.State() == breaker.Closed {
		report(t, b, breaker.Failure, 1)
	}
	clock.Advance(b.RetryIn())
	wantState(t, b, breaker.HalfOpen)
	return b, clock
}

func TestHalfOpen_50CallersCostTwoProbes(t *testing.T) {
	for name, call := range callers {
		t.Run(name, func(t *testing.T) {
			for range rounds() {
				b, clock := halfOpen(t, breaker.Config{})
				probe := func(answer error) {
					t.Helper()
					var ran, refused atomic.Int64
					enough := make(chan struct{})
					crowd(50, func() {
						err := call(b, func() error {
							ran.Add(1)
							<-enough // the probes are held until all others are refused
							return answer
						})
						if errors.Is(err, breaker.ErrOpen) && refused.Add(1) == 48 {
							close(enough)
						}
					})
					if ran.Load() != 2 || refused.Load() != 48 {
						t.Fatalf("%d probes ran and %d calls were refused, want 2 and 48", ran.Load(), refused.Load())
					}
				}
				probe(errDown)
				wantState(t, b, breaker.Open)
				crowd(50, func() {
					if err := call(b, func() error { return nil }); !errors.Is(err, breaker.ErrOpen) {
						t.Errorf("call in OPEN: %v", err)
					}
				})
				clock.Advance(b.RetryIn())
				probe(nil)
				wantState(t, b, breaker.Closed)
			}
		})
	}
}

// B-01: one probe at a time until it settles, and no hot loop for the rest.
func TestHalfOpen_OneProbeOf50Workers(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{HalfOpenMaxCalls: 1})
	if b.Room() != 1 || b.RetryIn() != 0 {
		t.Fatalf("room %d in %v, want 1 now", b.Room(), b.RetryIn())
	}
	p := acquire(t, b)
	for range 49 {
		e := refusal(t, b, breaker.ReasonHalfOpen)
		if e.Remaining() != 0 {
			t.Fatalf("remaining %v in HALF_OPEN, want 0", e.Remaining())
		}
	}
	if b.Room() != 0 || b.RetryIn() != breaker.DefaultBaseBackoff {
		t.Fatalf("room %d, retry in %v: want 0 and the base backoff", b.Room(), b.RetryIn())
	}
	p.Done(breaker.Failure)
	wantState(t, b, breaker.Open)
}

func TestHalfOpen_FirstFailureReopens(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{HalfOpenMaxCalls: 3})
	first, second := acquire(t, b), acquire(t, b)
	first.Done(breaker.Success)
	second.Done(breaker.Failure)
	wantState(t, b, breaker.Open)
}

// A recovery never runs more calls than it needs to close.
func TestHalfOpen_NoMoreProbesThanNeeded(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{})
	first := acquire(t, b)
	acquire(t, b)
	first.Done(breaker.Success)
	refusal(t, b, breaker.ReasonHalfOpen)
}

// The minimum of a window is no condition in HALF_OPEN.
func TestHalfOpen_WindowMinimumDoesNotApply(t *testing.T) {
	b, clock := halfOpen(t, breaker.Config{Window: breaker.Window{Calls: 20, MinimumCalls: 20}})
	report(t, b, breaker.Failure, 1)
	wantState(t, b, breaker.Open)
	clock.Advance(b.RetryIn())
	report(t, b, breaker.Success, 2)
	wantState(t, b, breaker.Closed)
}

// B-04: a neutral outcome gives the slot back and changes nothing.
func TestProbe_IgnoredAreUnlimited(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{})
	report(t, b, breaker.Neutral, 100)
	wantState(t, b, breaker.HalfOpen)
	if b.Room() != 2 {
		t.Fatalf("room %d, want both slots back", b.Room())
	}
	report(t, b, breaker.Outcome(99), 1) // no known outcome: neutral
	wantState(t, b, breaker.HalfOpen)
	report(t, b, breaker.Success, 2)
	wantState(t, b, breaker.Closed)
}

func TestProbe_HungLosesItsSlot(t *testing.T) {
	b, clock := halfOpen(t, breaker.Config{Lease: 3 * time.Second})
	hung := []breaker.Permit{acquire(t, b), acquire(t, b)}
	clock.Advance(3*time.Second - 1)
	refusal(t, b, breaker.ReasonHalfOpen)
	if in := b.RetryIn(); in != 1 {
		t.Fatalf("retry in %v, want the rest of the lease, 1ns", in)
	}
	clock.Advance(1)
	if b.Room() != 2 {
		t.Fatalf("room %d after the lease, want 2", b.Room())
	}
	next := []breaker.Permit{acquire(t, b), acquire(t, b)}
	refusal(t, b, breaker.ReasonHalfOpen)
	hung[0].Done(breaker.Failure)
	hung[1].Done(breaker.Success)
	wantState(t, b, breaker.HalfOpen)
	refusal(t, b, breaker.ReasonHalfOpen) // they freed nothing
	for _, p := range next {
		p.Done(breaker.Success)
	}
	wantState(t, b, breaker.Closed)
	if c := b.Counts(); c.ExpiredLeases != 2 || c.Stale != 2 {
		t.Fatalf("%d expired leases and %d stale results, want 2 and 2", c.ExpiredLeases, c.Stale)
	}
}

// Results of an older generation, in every state that can follow (B-02).
func TestLate_ClosedEraResultChangesNothing(t *testing.T) {
	outcomes := []breaker.Outcome{breaker.Failure, breaker.Success, breaker.Neutral}
	for _, late := range outcomes {
		for _, in := range []breaker.State{breaker.Open, breaker.HalfOpen, breaker.Closed} {
			t.Run(late.String()+" in "+in.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					log := newEventLog()
					b := newBreaker(t, breaker.Config{HalfOpenMaxCalls: 2, Logger: log.logger(), Detail: breaker.EveryCall})
					old := acquire(t, b)
					report(t, b, breaker.Failure, 3)
					if in != breaker.Open {
						time.Sleep(breaker.DefaultRecoveryTime)
						p := acquire(t, b)
						if in == breaker.Closed {
							p.Done(breaker.Success)
							report(t, b, breaker.Success, 1)
							report(t, b, breaker.Failure, 1) // a failure that a success would forget
						}
					}
					wantState(t, b, in)
					room, counts := b.Room(), b.Counts()
					old.Done(late)
					wantState(t, b, in)
					counts.Stale++
					if b.Room() != room || b.Counts() != counts {
						t.Fatalf("room %d → %d, counts %+v, want %+v", room, b.Room(), b.Counts(), counts)
					}
					synctest.Wait()
					if n := log.count("call_stale"); n != 1 {
						t.Fatalf("%d stale events, want 1", n)
					}
				})
			})
		}
	}
}

func TestLate_ProbeOfEarlierEpisode(t *testing.T) {
	for _, late := range []breaker.Outcome{breaker.Failure, breaker.Success, breaker.Neutral} {
		b, clock := halfOpen(t, breaker.Config{})
		old := acquire(t, b)
		report(t, b, breaker.Failure, 1)
		clock.Advance(b.RetryIn())
		p := acquire(t, b)
		old.Done(late)
		if b.Room() != 1 {
			t.Fatalf("room %d after a late %v, want 1 of 2", b.Room(), late)
		}
		p.Done(breaker.Success)
		report(t, b, breaker.Success, 1)
		wantState(t, b, breaker.Closed)
	}
}
