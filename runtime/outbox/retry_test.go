package outbox

import (
	"math"
	"testing"
	"time"
)

// Case D-09.
func TestBackoff_StaysWithinItsBoundsForAnyAttempt(t *testing.T) {
	p := RetryPolicy{Base: time.Second, Cap: time.Hour}
	for _, c := range []struct {
		attempt int
		limit   time.Duration
	}{
		{math.MinInt, time.Second}, {-1, time.Second}, {0, time.Second}, {1, time.Second}, {2, 2 * time.Second}, {3, 4 * time.Second},
		{12, 2048 * time.Second}, {13, time.Hour}, {34, time.Hour}, {63, time.Hour}, {64, time.Hour}, {305, time.Hour}, {1000, time.Hour}, {math.MaxInt32, time.Hour}, {math.MaxInt, time.Hour},
	} {
		for _, random := range []float64{0, 0.5, 1} {
			got := p.Backoff(c.attempt, func() float64 { return random })
			if want := time.Duration(random * float64(c.limit)); got != want {
				t.Errorf("attempt %d, random %v: %v, want %v", c.attempt, random, got, want)
			}
		}
		for range 100 {
			if got := p.Backoff(c.attempt, nil); got < 0 || got > c.limit {
				t.Fatalf("attempt %d: %v outside [0, %v]", c.attempt, got, c.limit)
			}
		}
	}
}

func TestBackoff_BoundsABadRandomSource(t *testing.T) {
	p := RetryPolicy{Base: time.Second, Cap: math.MaxInt64}
	for _, random := range []float64{-1, 2, math.Inf(1), math.Inf(-1), math.NaN(), 1} {
		if got := p.Backoff(100, func() float64 { return random }); got < 0 {
			t.Errorf("random %v: %v", random, got)
		}
	}
}

func TestBackoff_BaseAboveTheCapIsCapped(t *testing.T) {
	p := RetryPolicy{Base: time.Hour, Cap: time.Minute}
	if got := p.Backoff(1, func() float64 { return 1 }); got != time.Minute {
		t.Errorf("got %v, want the cap", got)
	}
}

func TestRetryPolicy_ZeroIsTheDefaultFieldByField(t *testing.T) {
	if got := (RetryPolicy{}).Or(DefaultRetry); got != DefaultRetry {
		t.Errorf("got %+v", got)
	}
	if got := (RetryPolicy{MaxAttempts: 3}).Or(DefaultRetry); got != (RetryPolicy{3, DefaultRetry.Base, DefaultRetry.Cap}) {
		t.Errorf("got %+v", got)
	}
	if got := (RetryPolicy{}).Backoff(1, func() float64 { return 1 }); got != DefaultRetry.Base {
		t.Errorf("the zero policy's first wait is at most %v, want %v", got, DefaultRetry.Base)
	}
}

func TestDefaultRetry_TakesAboutADay(t *testing.T) {
	var mean time.Duration
	for attempt := 1; attempt < DefaultRetry.MaxAttempts; attempt++ {
		mean += DefaultRetry.Backoff(attempt, func() float64 { return 0.5 })
	}
	if mean < 18*time.Hour || mean > 30*time.Hour {
		t.Errorf("%d attempts take %v on average", DefaultRetry.MaxAttempts, mean)
	}
}
