package breaker_test

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

func TestForceOpen_AdmitsNoProbeAndDoesNotHeal(t *testing.T) {
	clock := new(fakeClock)
	b := newBreaker(t, breaker.Config{Now: clock.Now})
	under := acquire(t, b)
	b.ForceOpen()
	b.ForceOpen()
	for range 100 {
		clock.Advance(time.Hour)
		e := refusal(t, b, breaker.ReasonForced)
		if e.Remaining() != 0 || b.Room() != 0 || b.RetryIn() != breaker.DefaultMaxBackoff {
			t.Fatalf("remaining %v, room %d, retry in %v", e.Remaining(), b.Room(), b.RetryIn())
		}
	}
	under.Done(breaker.Success)
	wantState(t, b, breaker.Open)
	b.OpenFor(time.Second) // does not shorten it
	refusal(t, b, breaker.ReasonForced)
	b.Reset()
	wantState(t, b, breaker.Closed)
	report(t, b, breaker.Failure, 3) // and it works as a new one
	clock.Advance(10 * time.Second)
	report(t, b, breaker.Success, 2)
	wantState(t, b, breaker.Closed)
}

func TestDisable(t *testing.T) {
	clock := new(fakeClock)
	b := newBreaker(t, breaker.Config{Now: clock.Now, Window: breaker.Window{Calls: 10}, FailureThreshold: 3})
	report(t, b, breaker.Failure, 3)
	b.Disable()
	b.Disable()
	report(t, b, breaker.Failure, 1000)
	report(t, b, breaker.Success, 1)
	report(t, b, breaker.Neutral, 1)
	b.OpenFor(time.Hour)
	wantState(t, b, breaker.Closed)
	if b.Room() != math.MaxInt || b.Counts().ConsecutiveFailures != 0 {
		t.Fatalf("room %d, failures %d", b.Room(), b.Counts().ConsecutiveFailures)
	}
	b.Reset()
	report(t, b, breaker.Failure, 3)
	wantState(t, b, breaker.Open)
	b.Disable()
	b.ForceOpen()
	refusal(t, b, breaker.ReasonForced)
}

func TestReset_DropsOldTokens(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{})
	old := []breaker.Permit{acquire(t, b), acquire(t, b)}
	b.Reset()
	wantState(t, b, breaker.Closed)
	report(t, b, breaker.Failure, 2)
	old[0].Done(breaker.Failure)
	old[1].Done(breaker.Success)
	if n := b.Counts().ConsecutiveFailures; n != 2 {
		t.Fatalf("%d failures, want the 2 since Reset", n)
	}
	report(t, b, breaker.Failure, 1)
	wantState(t, b, breaker.Open)
	if in := b.RetryIn(); in != breaker.DefaultRecoveryTime {
		t.Fatalf("recovery time %v after Reset", in)
	}
}

func TestTransition_WakesThoseWhoWait(t *testing.T) {
	for name, end := range map[string]func(*breaker.Breaker, breaker.Permit){
		"reset":      func(b *breaker.Breaker, _ breaker.Permit) { b.Reset() },
		"disable":    func(b *breaker.Breaker, _ breaker.Permit) { b.Disable() },
		"force open": func(b *breaker.Breaker, _ breaker.Permit) { b.ForceOpen() },
		"open":       func(_ *breaker.Breaker, p breaker.Permit) { p.Done(breaker.Failure) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, breaker.Config{})
				report(t, b, breaker.Failure, 2)
				p := acquire(t, b)
				waited := make(chan error)
				go func() {
					_, err := b.Acquire(t.Context())
					waited <- err
				}()
				synctest.Wait()
				start := time.Now()
				end(b, p)
				err := <-waited
				if refused := errors.Is(err, breaker.ErrOpen); refused != (b.State() == breaker.Open) || time.Since(start) != 0 {
					t.Fatalf("%v after %v", err, time.Since(start))
				}
			})
		})
	}
}

func TestReset_ForgetsTheBackoff(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{Random: highest})
	report(t, b, breaker.Failure, 1)
	b.Reset()
	report(t, b, breaker.Failure, 3)
	if got := refusal(t, b, breaker.ReasonOpen).Backoff(); got != breaker.DefaultBaseBackoff {
		t.Fatalf("backoff %v after Reset", got)
	}
}

func TestOpenFor(t *testing.T) {
	clock := new(fakeClock)
	b := newBreaker(t, breaker.Config{Now: clock.Now})
	b.OpenFor(0)
	b.OpenFor(-time.Second)
	wantState(t, b, breaker.Closed)
	b.OpenFor(time.Minute)
	b.OpenFor(time.Second) // no shorter
	if in := b.RetryIn(); in != time.Minute {
		t.Fatalf("open for %v", in)
	}
	b.OpenFor(time.Hour)
	if in := b.RetryIn(); in != time.Hour {
		t.Fatalf("open for %v", in)
	}
	clock.Advance(time.Hour)
	p := acquire(t, b)
	b.OpenFor(time.Second)
	p.Done(breaker.Success)
	wantState(t, b, breaker.Open)
	clock.Advance(time.Second)
	report(t, b, breaker.Success, 2)
	wantState(t, b, breaker.Closed)
}

func TestRecovered(t *testing.T) {
	b, clock := halfOpen(t, breaker.Config{})
	old := acquire(t, b)
	b.Recovered()
	wantState(t, b, breaker.Closed)
	old.Done(breaker.Failure)
	if n := b.Counts().ConsecutiveFailures; n != 0 {
		t.Fatalf("%d failures of an earlier time", n)
	}
	report(t, b, breaker.Failure, 2)
	b.Recovered() // it is closed: its failures stay
	report(t, b, breaker.Failure, 1)
	wantState(t, b, breaker.Open)
	b.Recovered()
	wantState(t, b, breaker.Closed)
	b.ForceOpen()
	b.Recovered()
	clock.Advance(time.Hour)
	refusal(t, b, breaker.ReasonForced)
}

func TestRefusal(t *testing.T) {
	b := newBreaker(t, breaker.Config{Name: "fleet", Random: highest})
	e := b.Refusal(breaker.ReasonHalfOpen)
	if e.Name != "fleet" || e.Reason != breaker.ReasonHalfOpen || e.Remaining() != 0 || e.Backoff() != breaker.DefaultBaseBackoff {
		t.Fatalf("%v: remaining %v, backoff %v", e, e.Remaining(), e.Backoff())
	}
}
