package breaker

import "time"

// result is how a call ended.
type result struct {
	outcome Outcome
	err     error         // may be nil whatever the outcome
	latency time.Duration // 0 when calls are not timed
	slow    bool
}

// settle records a call's outcome.
func (b *Breaker) settle(c call, o Outcome, err error) {
	if o == Success && c.token == 0 && b.s.plain &&
		b.era.Load() == c.era && c.era.failures.Load() == 0 {
		b.counts.successes.add() // nothing to change
		return
	}
	b.settleByRule(c, o, err)
}

func (b *Breaker) settleByRule(c call, o Outcome, err error) {
	r := result{outcome: o, err: err}
	var now time.Duration
	if b.s.timed || b.s.Window.Width != 0 || c.token != 0 {
		now = b.s.now()
	}
	if b.s.timed {
		r.latency = max(0, now-c.started)
		r.slow = b.s.Window.SlowCallRate != 0 && r.latency > b.s.Window.SlowCall
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settleLocked(c, r, now)
}

func (b *Breaker) settleLocked(c call, r result, now time.Duration) {
	e := c.era
	current := e == b.era.Load()
	held := current && c.token != 0 && e.slots.release(c.token, now)
	// A probe whose lease has ended is late: its slot is another's.
	if !current || e.state == HalfOpen && !held {
		b.counts.stale.Add(1)
		b.reportCall(eventStale, r)
		return
	}
	switch r.outcome {
	case Success:
		b.counts.successes.add()
		b.reportCall(eventSucceeded, r)
	case Failure:
		b.counts.failures.Add(1)
		b.reportCall(eventFailed, r)
	default:
		b.counts.neutral.Add(1)
		b.reportCall(eventIgnored, r)
		if held {
			e.wake() // room, though no verdict
		}
		return
	}
	if r.slow {
		b.counts.slow.Add(1)
	}
	switch {
	case e.disabled:
	case e.state == HalfOpen:
		b.settleProbe(e, r)
	default:
		b.settleClosed(e, r, now)
	}
}

func (b *Breaker) settleClosed(e *era, r result, now time.Duration) {
	if r.outcome == Failure {
		failures := e.failures.Add(1)
		if e.bounded && failures >= int64(b.s.FailureThreshold) {
			b.trip(CauseFailures, r)
			return
		}
	} else if e.failures.Load() != 0 {
		e.failures.Store(0)
		e.wake()
	}
	if b.window == nil {
		return
	}
	b.window.record(now, r)
	if cause := b.window.exceeded(); cause != "" {
		b.trip(cause, r)
	}
}

func (b *Breaker) settleProbe(e *era, r result) {
	if r.outcome == Failure || r.slow {
		b.attempt++
		if b.s.recovery(b.level) < b.s.MaxRecoveryTime {
			b.level++
		}
		b.become(b.openEra(b.s.recovery(b.level)), CauseProbeFailed, r)
		return
	}
	e.successes++
	if e.successes >= b.s.HalfOpenMaxCalls {
		b.attempt = 0
		b.become(b.newEra(Closed), CauseProbes, r)
	}
}

// trip opens the closed breaker.
func (b *Breaker) trip(cause Cause, r result) {
	b.level = b.decayed(b.s.now())
	b.become(b.openEra(b.s.recovery(b.level)), cause, r)
}

// decayed is the level that is left after the time spent CLOSED: it falls by
// one for each of its own recovery times.
func (b *Breaker) decayed(now time.Duration) int {
	level, healthy := b.level, now-b.closedAt
	for level > 0 && healthy >= b.s.recovery(level) {
		healthy -= b.s.recovery(level)
		level--
	}
	return level
}
