package breaker

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrOpen matches every *OpenError.
var ErrOpen = errors.New("breaker: call refused")

// Reason is why a call was refused.
type Reason uint8

const (
	// ReasonOpen: the recovery time runs.
	ReasonOpen Reason = iota
	// ReasonHalfOpen: all probes are under way.
	ReasonHalfOpen
	// ReasonSuspect: the breaker is closed, but as many calls run as could
	// open it. Come back when one of them has ended.
	ReasonSuspect
	// ReasonForced: ForceOpen was called.
	ReasonForced
	reasons = iota
)

// String returns open, half_open, suspect or forced.
func (r Reason) String() string {
	switch r {
	case ReasonOpen:
		return "open"
	case ReasonHalfOpen:
		return "half_open"
	case ReasonSuspect:
		return "suspect"
	case ReasonForced:
		return "forced"
	}
	return "unknown"
}

// OpenError refuses a call. It is made once per generation and shared by all
// calls refused in it, so that a refusal costs no allocation; therefore what
// changes with time is a method. It is immutable and safe for concurrent use.
type OpenError struct {
	Name   string
	Reason Reason

	until   time.Duration // by the settings' clock; forever when forced
	attempt int
	s       *settings
}

// forever is the end of a forced open state.
const forever = time.Duration(math.MaxInt64)

// Remaining is the rest of the recovery time: it falls while one looks, is
// never negative, and 0 for every reason but ReasonOpen.
func (e *OpenError) Remaining() time.Duration {
	if e.Reason != ReasonOpen || e.s == nil {
		return 0
	}
	return max(0, e.until-e.s.now())
}

// Backoff draws a delay by Full Jitter, in [0, min(MaxBackoff,
// BaseBackoff·2^n)] with n the recoveries that failed since the breaker was
// last closed. Each call draws anew, so that callers that share this error
// do not come back together.
func (e *OpenError) Backoff() time.Duration {
	if e.s == nil {
		return 0
	}
	return FullJitter(e.s.BaseBackoff, e.s.MaxBackoff, e.attempt, e.s.Random)
}

// RetryIn is when to come back: the larger of Remaining and Backoff, so that
// a low draw does not hammer an open breaker.
func (e *OpenError) RetryIn() time.Duration { return max(e.Remaining(), e.Backoff()) }

func (e *OpenError) Error() string {
	switch e.Reason {
	case ReasonOpen:
		return fmt.Sprintf("breaker %q is open: call refused, %v of the recovery time left",
			e.Name, e.Remaining().Round(time.Millisecond))
	case ReasonHalfOpen:
		return fmt.Sprintf("breaker %q is half-open: call refused, all probes are under way", e.Name)
	case ReasonSuspect:
		return fmt.Sprintf("breaker %q is about to open: call refused until a call under way ends", e.Name)
	}
	return fmt.Sprintf("breaker %q is forced open: call refused until it is reset", e.Name)
}

// Is reports whether target is ErrOpen.
func (e *OpenError) Is(target error) bool { return target == ErrOpen }
