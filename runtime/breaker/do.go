package breaker

import (
	"context"
	"errors"
)

// Do calls fn when b admits it and reports the outcome, which Config.Classify
// reads from fn's error. It returns what fn returns, or a *OpenError, or ctx's
// error when ctx ended while the call waited at the trip edge (see Acquire).
//
// A panic and runtime.Goexit in fn count as failures and go on undisturbed.
func Do[T any](ctx context.Context, b *Breaker, fn func(context.Context) (T, error)) (T, error) {
	c, err := b.await(ctx)
	if err != nil {
		var none T
		return none, err
	}
	outcome, cause := Failure, errPanic
	defer func() { b.settle(c, outcome, cause) }()
	v, err := fn(ctx)
	outcome, cause = Neutral, err // a classifier that panics blames nobody
	outcome = b.s.Classify(ctx, err)
	return v, err
}

// errPanic stands for the error of a call that did not return.
var errPanic = errors.New("breaker: the call did not return")
