package breaker

import "sync/atomic"

// counters are written and read without the breaker's lock.
type counters struct {
	successes, failures, neutral atomic.Uint64
	stale, expired, opened       atomic.Uint64
	refused                      [reasons]atomic.Uint64
}
