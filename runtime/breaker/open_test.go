package breaker_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

func TestOpen_NothingExtendsIt(t *testing.T) {
	clock := new(fakeClock)
	b := newBreaker(t, breaker.Config{Now: clock.Now})
	late := acquire(t, b)
	later := acquire(t, b)
	clock.Advance(time.Hour)
	report(t, b, breaker.Failure, 3)
	if in := b.RetryIn(); in != 10*time.Second {
		t.Fatalf("open for %v from the tripping result, want 10s", in)
	}
	clock.Advance(4 * time.Second)
	late.Done(breaker.Failure)
	later.Done(breaker.Success)
	for range 100 {
		refusal(t, b, breaker.ReasonOpen)
	}
	if in := b.RetryIn(); in != 6*time.Second {
		t.Fatalf("%v left after 4s, want 6s", in)
	}
}

func TestOpen_RemainingFalls(t *testing.T) {
	clock := new(fakeClock)
	b := newBreaker(t, breaker.Config{Now: clock.Now, RecoveryTime: 3 * time.Second})
	report(t, b, breaker.Failure, 3)
	e := refusal(t, b, breaker.ReasonOpen)
	for _, want := range []time.Duration{3, 2, 1, 0, 0} {
		if got := e.Remaining(); got != want*time.Second {
			t.Fatalf("remaining %v, want %ds", got, want)
		}
		if e.RetryIn() < e.Remaining() {
			t.Fatal("RetryIn is before the end of the recovery time")
		}
		clock.Advance(time.Second)
	}
}

func TestOpen_ExactBoundary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, breaker.Config{RecoveryTime: time.Second})
		report(t, b, breaker.Failure, 3)
		time.Sleep(time.Second - 1)
		refusal(t, b, breaker.ReasonOpen)
		wantState(t, b, breaker.Open)
		time.Sleep(1 * time.Nanosecond)
		wantState(t, b, breaker.HalfOpen)
		if b.Room() != 2 || b.RetryIn() != 0 {
			t.Fatalf("room %d in %v, want 2 now", b.Room(), b.RetryIn())
		}
		report(t, b, breaker.Success, 2)
		wantState(t, b, breaker.Closed)
	})
}

func TestOpen_LongSuspend(t *testing.T) {
	for _, pause := range []time.Duration{24 * time.Hour, 200 * 365 * 24 * time.Hour} {
		clock := new(fakeClock)
		b := newBreaker(t, breaker.Config{Now: clock.Now})
		report(t, b, breaker.Failure, 3)
		clock.Advance(pause)
		wantState(t, b, breaker.HalfOpen)
		report(t, b, breaker.Success, 2)
		wantState(t, b, breaker.Closed)
	}
}

// A recovery time near the end of time does not overflow into the past.
func TestOpen_Forever(t *testing.T) {
	clock := new(fakeClock)
	clock.Advance(time.Hour)
	b := newBreaker(t, breaker.Config{Now: clock.Now, RecoveryTime: math.MaxInt64, Lease: math.MaxInt64})
	report(t, b, breaker.Failure, 3)
	clock.Advance(100 * 365 * 24 * time.Hour)
	refusal(t, b, breaker.ReasonOpen)
}

func TestRecovery_GrowsAndDecays(t *testing.T) {
	clock := new(fakeClock)
	b := newBreaker(t, breaker.Config{Now: clock.Now}) // 10s, at most 60s
	report(t, b, breaker.Failure, 3)
	recovered := func(want time.Duration) {
		t.Helper()
		if in := b.RetryIn(); in != want {
			t.Fatalf("recovery time %v, want %v", in, want)
		}
		clock.Advance(want)
	}
	for _, want := range []time.Duration{10, 20, 40, 60, 60, 60} {
		recovered(want * time.Second)
		report(t, b, breaker.Failure, 1)
	}
	recovered(60 * time.Second)
	report(t, b, breaker.Success, 2)
	// Opening again at once keeps what it has grown to …
	report(t, b, breaker.Failure, 3)
	recovered(60 * time.Second)
	report(t, b, breaker.Success, 2)
	// … 60s of CLOSED take one doubling back, 40s another, 20s the last.
	clock.Advance(60 * time.Second)
	report(t, b, breaker.Failure, 3)
	recovered(40 * time.Second)
	report(t, b, breaker.Success, 2)
	clock.Advance(60*time.Second - 1)
	report(t, b, breaker.Failure, 3)
	recovered(20 * time.Second)
	report(t, b, breaker.Success, 2)
	clock.Advance(time.Hour)
	report(t, b, breaker.Failure, 3)
	recovered(10 * time.Second)
}

func TestRecovery_ConstantWhenCapped(t *testing.T) {
	clock := new(fakeClock)
	b := newBreaker(t, breaker.Config{Now: clock.Now, RecoveryTime: time.Second, MaxRecoveryTime: time.Second})
	report(t, b, breaker.Failure, 3)
	for range 10 {
		if in := b.RetryIn(); in != time.Second {
			t.Fatalf("recovery time %v, want 1s", in)
		}
		clock.Advance(time.Second)
		report(t, b, breaker.Failure, 1)
	}
}

func TestOpenError_Says(t *testing.T) {
	clock := new(fakeClock)
	b := newBreaker(t, breaker.Config{Name: "billing", Now: clock.Now})
	report(t, b, breaker.Failure, 2)
	p := acquire(t, b)
	says := func(reason breaker.Reason, want string) {
		t.Helper()
		e := refusal(t, b, reason)
		if got := e.Error(); !strings.Contains(got, want) || !strings.Contains(got, `"billing"`) || e.Name != "billing" {
			t.Fatalf("says %q, want the name and %q", got, want)
		}
	}
	says(breaker.ReasonSuspect, "until a call under way ends")
	p.Done(breaker.Failure)
	clock.Advance(2500 * time.Millisecond)
	says(breaker.ReasonOpen, "7.5s of the recovery time left")
	clock.Advance(time.Minute)
	acquire(t, b)
	acquire(t, b)
	says(breaker.ReasonHalfOpen, "all probes are under way")
	b.ForceOpen()
	says(breaker.ReasonForced, "until it is reset")
}

func TestNames(t *testing.T) {
	got := fmt.Sprint(breaker.Closed, breaker.Open, breaker.HalfOpen, breaker.State(9),
		breaker.Success, breaker.Failure, breaker.Neutral,
		breaker.ReasonOpen, breaker.ReasonHalfOpen, breaker.ReasonSuspect, breaker.ReasonForced, breaker.Reason(9))
	want := "CLOSED OPEN HALF_OPEN UNKNOWN success failure neutral open half_open suspect forced unknown"
	if got != want {
		t.Fatalf("%s\nwant %s", got, want)
	}
}
