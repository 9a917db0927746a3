package breaker

import (
	"math"
	"math/rand/v2"
	"time"
)

// FullJitter draws a delay uniformly from [0, min(limit, base·2^attempt)],
// without overflow for any attempt. A negative attempt counts as 0, a negative
// base or limit as none. random returns a number in [0, n); nil means
// math/rand/v2's.
//
// Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
func FullJitter(base, limit time.Duration, attempt int, random func(n int64) int64) time.Duration {
	ceiling := min(grown(base, limit, attempt), math.MaxInt64-1)
	if ceiling <= 0 {
		return 0
	}
	if random == nil {
		random = rand.Int64N
	}
	return time.Duration(random(int64(ceiling) + 1))
}

// grown is min(limit, base·2^doublings).
func grown(base, limit time.Duration, doublings int) time.Duration {
	if base <= 0 || limit <= 0 {
		return 0
	}
	for range doublings {
		if base > limit/2 {
			return limit
		}
		base *= 2
	}
	return min(base, limit)
}
