package outbox

import "time"

// RetryPolicy spaces a delivery's attempts. The zero value is DefaultRetry.
type RetryPolicy struct {
	MaxAttempts int
	Base, Cap   time.Duration
}
