package breaker_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// ceiling is min(limit, base·2^attempt) in numbers that cannot overflow.
func ceiling(base, limit time.Duration, attempt int) time.Duration {
	if base <= 0 || limit <= 0 {
		return 0
	}
	grown := new(big.Int).Lsh(big.NewInt(int64(base)), uint(min(max(attempt, 0), 200)))
	if grown.Cmp(big.NewInt(int64(limit))) > 0 {
		return limit
	}
	return time.Duration(grown.Int64())
}

func lowest(int64) int64    { return 0 }
func highest(n int64) int64 { return n - 1 }

func TestFullJitter(t *testing.T) {
	attempts := []int{-1, 305, 1000, math.MaxInt32, math.MaxInt}
	for a := range 201 {
		attempts = append(attempts, a)
	}
	durations := []time.Duration{-time.Second, 0, 1, 2, 3, time.Microsecond, time.Second, time.Hour, 290 * 365 * 24 * time.Hour, math.MaxInt64}
	for _, base := range durations {
		for _, limit := range durations {
			for _, attempt := range attempts {
				want := min(ceiling(base, limit, attempt), math.MaxInt64-1)
				if got := breaker.FullJitter(base, limit, attempt, lowest); got != 0 {
					t.Fatalf("FullJitter(%v, %v, %d) at the lowest draw: %v, want 0", base, limit, attempt, got)
				}
				if got := breaker.FullJitter(base, limit, attempt, highest); got != want {
					t.Fatalf("FullJitter(%v, %v, %d) at the highest draw: %v, want %v", base, limit, attempt, got, want)
				}
			}
		}
	}
}

func TestFullJitter_IsUniform(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)).Int64N
	for _, attempt := range []int{0, 3, 200} {
		const draws = 20_000
		limit := ceiling(time.Second, time.Minute, attempt)
		var sum time.Duration
		var quarters [4]int
		for range draws {
			d := breaker.FullJitter(time.Second, time.Minute, attempt, random)
			sum += d
			quarters[min(3, 4*d/limit)]++
		}
		if mean := sum / draws; mean < limit*48/100 || mean > limit*52/100 {
			t.Errorf("attempt %d: mean %v, want about half of %v", attempt, mean, limit)
		}
		for i, n := range quarters {
			if n < draws*23/100 || n > draws*27/100 {
				t.Errorf("attempt %d: %d of %d draws in quarter %d", attempt, n, draws, i)
			}
		}
	}
}

func FuzzFullJitter(f *testing.F) {
	f.Add(int64(time.Second), int64(time.Hour), 34, int64(0))
	f.Add(int64(1), int64(math.MaxInt64), 63, int64(-1))
	f.Fuzz(func(t *testing.T, base, limit int64, attempt int, seed int64) {
		d := breaker.FullJitter(time.Duration(base), time.Duration(limit), attempt, func(n int64) int64 {
			if n <= 0 {
				t.Fatalf("asked for a number below %d", n)
			}
			return int64(uint64(seed) % uint64(n))
		})
		if d < 0 || d > ceiling(time.Duration(base), time.Duration(limit), attempt) {
			t.Fatalf("FullJitter(%d, %d, %d) = %d", base, limit, attempt, d)
		}
	})
}

func TestBackoff_FollowsFailedRecoveries(t *testing.T) {
	b, clock := halfOpen(t, breaker.Config{Random: highest, HalfOpenMaxCalls: 1})
	backoff := func(want time.Duration) {
		t.Helper()
		if got := refusal(t, b, breaker.ReasonOpen).Backoff(); got != want {
			t.Fatalf("backoff %v, want %v", got, want)
		}
		clock.Advance(b.RetryIn())
	}
	report(t, b, breaker.Failure, 1)
	backoff(time.Second) // 500ms·2^1 after the first failed recovery
	report(t, b, breaker.Neutral, 1)
	report(t, b, breaker.Failure, 1)
	backoff(2 * time.Second)
	for range 100 {
		report(t, b, breaker.Failure, 1)
		clock.Advance(b.RetryIn())
	}
	report(t, b, breaker.Failure, 1)
	backoff(5 * time.Second) // the cap
	report(t, b, breaker.Success, 1)
	report(t, b, breaker.Failure, 3)
	backoff(500 * time.Millisecond) // the close began anew
}

// A draw of 0 must not hammer an open breaker.
func TestBackoff_HintCoversTheRecoveryTime(t *testing.T) {
	clock := new(fakeClock)
	b := newBreaker(t, breaker.Config{Now: clock.Now, Random: lowest})
	report(t, b, breaker.Failure, 3)
	if e := refusal(t, b, breaker.ReasonOpen); e.Backoff() != 0 || e.RetryIn() != 10*time.Second {
		t.Fatalf("backoff %v, retry in %v", e.Backoff(), e.RetryIn())
	}
}
