package breaker

import (
	"context"
	"errors"
)

// DefaultClassify is the classification that Config.Classify replaces:
//
//   - no error: Success
//   - an error marked by Ignore, or a refusal by this or another breaker: Neutral
//   - any error once ctx is cancelled: Neutral, because it is our own doing
//   - everything else: Failure
//
// A deadline is a failure whoever set it: a context with a timeout is how Go
// limits a call, and an endpoint that does not answer in time looks like that.
func DefaultClassify(ctx context.Context, err error) Outcome {
	if err == nil {
		return Success
	}
	if ctx.Err() == context.Canceled || errors.Is(err, ErrOpen) {
		return Neutral
	}
	if _, ignored := errors.AsType[*ignoredError](err); ignored {
		return Neutral
	}
	return Failure
}

// Ignore marks an error as no fault of the endpoint's: a request that could
// not be signed, a full connection pool, a refused input. DefaultClassify
// takes it as Neutral. errors.Is and errors.As see through it; Ignore(nil) is nil.
func Ignore(err error) error {
	if err == nil {
		return nil
	}
	return &ignoredError{err}
}

type ignoredError struct{ err error }

func (e *ignoredError) Error() string { return e.err.Error() }
func (e *ignoredError) Unwrap() error { return e.err }
