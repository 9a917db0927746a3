package outbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// DefaultRetry is about 24 hours of attempts.
var DefaultRetry = RetryPolicy{MaxAttempts: 20, Base: 5 * time.Second, Cap: 6 * time.Hour}

// RetryPolicy spaces a delivery's attempts. Fields that are zero take
// DefaultRetry's value, so the zero RetryPolicy is DefaultRetry.
type RetryPolicy struct {
	// MaxAttempts is how many attempts a delivery may spend, the first one
	// included, before it becomes a dead letter.
	MaxAttempts int
	// Base bounds the wait after the first failed attempt; the bound doubles
	// with every further one, up to Cap.
	Base, Cap time.Duration
}

// Or returns p with its zero fields taken from defaults.
func (p RetryPolicy) Or(defaults RetryPolicy) RetryPolicy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = defaults.MaxAttempts
	}
	if p.Base == 0 {
		p.Base = defaults.Base
	}
	if p.Cap == 0 {
		p.Cap = defaults.Cap
	}
	return p
}

// Validate names every fault of the policy at once.
func (p RetryPolicy) Validate() error {
	var faults []error
	if p.MaxAttempts < 0 {
		faults = append(faults, fmt.Errorf("max attempts is %d: use at least 1, or 0 for %d", p.MaxAttempts, DefaultRetry.MaxAttempts))
	}
	if p.Base < 0 {
		faults = append(faults, fmt.Errorf("base is %v: use a positive duration, or 0 for %v", p.Base, DefaultRetry.Base))
	}
	if p.Cap < 0 {
		faults = append(faults, fmt.Errorf("cap is %v: use a positive duration, or 0 for %v", p.Cap, DefaultRetry.Cap))
	}
	return errors.Join(faults...)
}

// Backoff is the wait after failed attempt number attempt (from 1): Full
// Jitter, uniform in [0, min(Cap, Base·2^(attempt−1))], for any attempt
// without overflow. random answers numbers in [0, 1]; nil uses math/rand/v2.
func (p RetryPolicy) Backoff(attempt int, random func() float64) time.Duration {
	if random == nil {
		random = rand.Float64
	}
	p = p.Or(DefaultRetry)
	limit := backoffLimit(p.Base, p.Cap, attempt)
	part := min(max(random(), 0), 1) // NaN stays NaN; the conversion below is bounded either way
	return min(max(time.Duration(part*float64(limit)), 0), limit)
}

// backoffLimit is min(limit, base·2^(attempt−1)), never below 0.
func backoffLimit(base, limit time.Duration, attempt int) time.Duration {
	if base <= 0 || limit <= 0 {
		return 0
	}
	for i := 1; i < attempt && base < limit; i++ {
		if base > limit/2 {
			return limit
		}
		base *= 2
	}
	return min(base, limit)
}
