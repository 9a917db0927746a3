package breaker

import "sync/atomic"

// counters are written and read without the breaker's lock.
type counters struct {
	successes                    spreadCounter
	failures, neutral, slow      atomic.Uint64
	stale, expiredLeases, opened atomic.Uint64
	refused                      [reasons]atomic.Uint64
}

// Counts are totals since the breaker was made. They are read one by one
// while calls go on, so sums over several may be off by the calls under way.
type Counts struct {
	Successes, Failures, Neutral uint64
	Slow                         uint64 // beside success or failure; only with a SlowCallRate
	Stale                        uint64 // results too late to count as one of the above
	Opened                       uint64 // transitions to OPEN
	ExpiredLeases                uint64 // slots taken back from calls that hung

	RefusedOpen, RefusedHalfOpen, RefusedSuspect, RefusedForced uint64

	LostEvents   uint64 // dropped because the logger was too slow for them
	HookFailures uint64 // panics in OnTransition or the logger

	ConsecutiveFailures uint64 // counted now, in CLOSED
}

// Counts reads the counters, without a lock.
func (b *Breaker) Counts() Counts {
	c := &b.counts
	n := Counts{
		Successes: c.successes.load(), Failures: c.failures.Load(), Neutral: c.neutral.Load(),
		Slow: c.slow.Load(), Stale: c.stale.Load(),
		Opened: c.opened.Load(), ExpiredLeases: c.expiredLeases.Load(),
		RefusedOpen:         c.refused[ReasonOpen].Load(),
		RefusedHalfOpen:     c.refused[ReasonHalfOpen].Load(),
		RefusedSuspect:      c.refused[ReasonSuspect].Load(),
		RefusedForced:       c.refused[ReasonForced].Load(),
		ConsecutiveFailures: uint64(b.era.Load().failures.Load()),
	}
	if q := b.reports.Load(); q != nil {
		n.LostEvents, n.HookFailures = q.lost.Load(), q.hookFailures.Load()
	}
	return n
}
