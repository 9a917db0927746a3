package breaker

// Transition is a change of state.
type Transition struct {
	Name       string
	From, To   State
	Generation uint64
}
