package breaker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// mixed makes failures failing calls among calls, the failures first.
func mixed(t *testing.T, b *breaker.Breaker, failures, calls int) {
	t.Helper()
	report(t, b, breaker.Failure, failures)
	report(t, b, breaker.Success, calls-failures)
}

func TestWindow_ExactThresholds(t *testing.T) {
	for _, c := range []struct {
		rate            float64
		failures, calls int
		opens           bool
	}{
		{57, 57, 100, true}, // 0.57·100 is 56.99… in floating point
		{57, 56, 100, false},
		{50, 199, 400, false}, // 49.75 %
		{50, 200, 400, true},
		{29, 29, 100, true},
		{0.1, 1, 1000, true},
		{0.1001, 1, 1000, false},
		{100, 399, 400, false},
		{100, 400, 400, true},
		{33.3333, 1, 3, true},
		{33.3334, 1, 3, false},
	} {
		b := newBreaker(t, breaker.Config{Window: breaker.Window{Calls: c.calls, MinimumCalls: c.calls, FailureRate: c.rate}})
		report(t, b, breaker.Success, c.calls-c.failures)
		report(t, b, breaker.Failure, c.failures)
		if opened := b.State() == breaker.Open; opened != c.opens {
			t.Errorf("%d of %d at %v %%: opened %v", c.failures, c.calls, c.rate, opened)
		}
	}
}

func TestWindow_MinimumCalls(t *testing.T) {
	b := newBreaker(t, breaker.Config{Window: breaker.Window{Calls: 100, MinimumCalls: 10}})
	report(t, b, breaker.Failure, 9)
	report(t, b, breaker.Neutral, 100) // counts nowhere
	wantState(t, b, breaker.Closed)
	// The call that reaches the minimum decides, a success too.
	report(t, b, breaker.Success, 1)
	wantState(t, b, breaker.Open)
}

func TestWindow_CountForgetsOldCalls(t *testing.T) {
	b := newBreaker(t, breaker.Config{Window: breaker.Window{Calls: 10, FailureRate: 50}})
	for range 50 {
		mixed(t, b, 4, 10) // never 5 in any 10 in a row
	}
	wantState(t, b, breaker.Closed)
	report(t, b, breaker.Failure, 5)
	wantState(t, b, breaker.Open)
}

func TestWindow_ClosesClean(t *testing.T) {
	b, _ := halfOpen(t, breaker.Config{Window: breaker.Window{Calls: 10}})
	report(t, b, breaker.Success, 2)
	report(t, b, breaker.Failure, 9)
	wantState(t, b, breaker.Closed) // the failures before it opened are gone
	report(t, b, breaker.Failure, 1)
	wantState(t, b, breaker.Open)
}

func TestWindow_TimeForgetsOldCalls(t *testing.T) {
	clock := new(fakeClock)
	b := newBreaker(t, breaker.Config{Now: clock.Now, Window: breaker.Window{Width: 10 * time.Second, MinimumCalls: 10}})
	report(t, b, breaker.Failure, 9)
	clock.Advance(10 * time.Second)
	report(t, b, breaker.Failure, 9)
	wantState(t, b, breaker.Closed)
	clock.Advance(9*time.Second + 999*time.Millisecond)
	report(t, b, breaker.Failure, 1)
	wantState(t, b, breaker.Open)
}

// The call that turns the bucket counts itself.
func TestWindow_CallThatRollsTheBucketCounts(t *testing.T) {
	for buckets := 1; buckets <= 3; buckets++ {
		clock := new(fakeClock)
		b := newBreaker(t, breaker.Config{Now: clock.Now, Window: breaker.Window{
			Width: 3 * time.Second, Buckets: buckets, MinimumCalls: 2, FailureRate: 100}})
		clock.Advance(3 * time.Second)
		report(t, b, breaker.Failure, 1)
		report(t, b, breaker.Failure, 1)
		wantState(t, b, breaker.Open)
	}
}

func TestWindow_OneBucketTumbles(t *testing.T) {
	clock := new(fakeClock)
	b := newBreaker(t, breaker.Config{Now: clock.Now, Window: breaker.Window{Width: time.Second, Buckets: 1, MinimumCalls: 4}})
	for range 10 {
		report(t, b, breaker.Failure, 3)
		clock.Advance(time.Second)
	}
	wantState(t, b, breaker.Closed)
	report(t, b, breaker.Failure, 4)
	wantState(t, b, breaker.Open)
}

func TestWindow_BurstAfterIdle(t *testing.T) {
	clock := new(fakeClock)
	b := newBreaker(t, breaker.Config{Now: clock.Now, Window: breaker.Window{Width: time.Second, MinimumCalls: 10}})
	report(t, b, breaker.Success, 1000)
	for _, idle := range []time.Duration{time.Second, time.Minute, 100 * 365 * 24 * time.Hour} {
		clock.Advance(idle)
		report(t, b, breaker.Failure, 9)
		wantState(t, b, breaker.Closed)
		report(t, b, breaker.Failure, 1)
		wantState(t, b, breaker.Open)
		b.Reset()
	}
}

func TestWindow_TimeGoesBack(t *testing.T) {
	clock := new(fakeClock)
	clock.Advance(time.Hour)
	b := newBreaker(t, breaker.Config{Now: clock.Now, Window: breaker.Window{Width: time.Second, MinimumCalls: 10}})
	report(t, b, breaker.Failure, 5)
	clock.Advance(-time.Hour)
	report(t, b, breaker.Failure, 4)
	wantState(t, b, breaker.Closed)
	report(t, b, breaker.Failure, 1)
	wantState(t, b, breaker.Open)
}

// A time window against its definition: the calls of the buckets that reach
// into the last Width.
func TestWindow_TimeAgainstDefinition(t *testing.T) {
	const width, buckets, minimum = 10 * time.Second, 5, 6
	clock := new(fakeClock)
	type call struct {
		bucket time.Duration
		failed bool
	}
	var calls []call
	b := newBreaker(t, breaker.Config{Now: clock.Now, Window: breaker.Window{Width: width, Buckets: buckets, MinimumCalls: minimum, FailureRate: 60}})
	random := seeded(11)
	for step := range 20_000 {
		clock.Advance(time.Duration(random.Int64N(int64(1500 * time.Millisecond))))
		if random.IntN(200) == 0 {
			clock.Advance(time.Duration(random.Int64N(int64(2 * width))))
		}
		failed := random.IntN(2) == 0
		outcome := breaker.Success
		if failed {
			outcome = breaker.Failure
		}
		report(t, b, outcome, 1)
		now := clock.Now() / (width / buckets)
		calls = append(calls, call{now, failed})
		for calls[0].bucket <= now-buckets {
			calls = calls[1:]
		}
		failures := 0
		for _, c := range calls {
			if c.failed {
				failures++
			}
		}
		want := breaker.Closed
		if len(calls) >= minimum && failures*100 >= 60*len(calls) {
			want = breaker.Open
		}
		if got := b.State(); got != want {
			t.Fatalf("step %d: %v with %d failures in %d calls, want %v", step, got, failures, len(calls), want)
		}
		if want == breaker.Open {
			b.Reset()
			calls = nil
		}
		if len(calls) == 0 {
			calls = make([]call, 0, 64)
		}
	}
}

func TestWindow_SlowCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, breaker.Config{Window: breaker.Window{
			Width: time.Minute, MinimumCalls: 4, SlowCallRate: 50, SlowCall: time.Second}})
		take := func(d time.Duration) {
			t.Helper()
			if _, err := breaker.Do(t.Context(), b, func(context.Context) (struct{}, error) {
				time.Sleep(d)
				return struct{}{}, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		take(time.Second) // not above the limit
		take(time.Second)
		take(time.Second + 1)
		wantState(t, b, breaker.Closed)
		take(time.Second + 1)
		wantState(t, b, breaker.Open)
		// Slow probes do not close it.
		time.Sleep(b.RetryIn())
		take(2 * time.Second)
		wantState(t, b, breaker.Open)
		time.Sleep(b.RetryIn())
		take(0)
		take(0)
		wantState(t, b, breaker.Closed)
		if n := b.Counts().Slow; n != 3 {
			t.Fatalf("%d slow calls, want 3", n)
		}
		// Failures alone do not open it: only the slow rate is set.
		report(t, b, breaker.Failure, 100)
		wantState(t, b, breaker.Closed)
	})
}

// With a FailureThreshold beside the window, both rules hold, the edge too.
func TestWindow_BesideThreshold(t *testing.T) {
	c := breaker.Config{FailureThreshold: 3, Window: breaker.Window{Calls: 20, MinimumCalls: 10, FailureRate: 50}}
	b := newBreaker(t, c)
	report(t, b, breaker.Failure, 2)
	acquire(t, b)
	refusal(t, b, breaker.ReasonSuspect)
	b = newBreaker(t, c)
	report(t, b, breaker.Failure, 3)
	wantState(t, b, breaker.Open)
	b = newBreaker(t, c)
	for range 5 {
		report(t, b, breaker.Success, 1)
		report(t, b, breaker.Failure, 1)
	}
	wantState(t, b, breaker.Open)
}

// Without one, failures in a row alone do not open it and calls are not bounded.
func TestWindow_AloneHasNoEdge(t *testing.T) {
	b := newBreaker(t, breaker.Config{Window: breaker.Window{Calls: 100, MinimumCalls: 100}})
	report(t, b, breaker.Failure, 40)
	for range 50 {
		acquire(t, b)
	}
}
