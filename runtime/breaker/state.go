package breaker

// State of a breaker.
type State int32

// The three states. A forced-open breaker is Open; a disabled one is Closed,
// because it admits every call.
const (
	Closed State = iota
	Open
	HalfOpen
)

// String returns CLOSED, OPEN or HALF_OPEN.
func (s State) String() string {
	switch s {
	case Closed:
		return "CLOSED"
	case Open:
		return "OPEN"
	case HalfOpen:
		return "HALF_OPEN"
	}
	return "UNKNOWN"
}

// Outcome is what a permitted call came to.
type Outcome int32

const (
	// Success: the endpoint did its work.
	Success Outcome = iota + 1
	// Failure: the endpoint is at fault. It counts towards opening.
	Failure
	// Neutral says nothing of the endpoint: our own cancellation, a refused
	// request, a local fault. It gives a slot back and counts nowhere. Any
	// value that is none of the three is taken as Neutral.
	Neutral
)

// String returns success, failure or neutral.
func (o Outcome) String() string {
	switch o {
	case Success:
		return "success"
	case Failure:
		return "failure"
	}
	return "neutral"
}
