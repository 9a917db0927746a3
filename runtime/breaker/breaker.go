// Package breaker is a circuit breaker.
package breaker

// State of a breaker.
type State int32

const (
	Closed State = iota
	Open
	HalfOpen
)

// Outcome of a permitted call.
type Outcome int32

const (
	Success Outcome = iota + 1
	Failure
	Neutral
)

// Permit is the right to make one call; it ends with Done.
type Permit struct{}

// Done reports the call's outcome. Only the first call counts.
func (p Permit) Done(o Outcome) {}
