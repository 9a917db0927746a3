package breaker

import "time"

// settle records a call's outcome.
func (b *Breaker) settle(c call, o Outcome, err error) {
	if o == Success && c.token == 0 && b.window == nil &&
		b.era.Load() == c.era && c.era.failures.Load() == 0 {
		b.counts.successes.Add(1) // nothing to change
		return
	}
	now := b.s.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.era.Load() != c.era {
		b.counts.stale.Add(1)
		return
	}
	held := c.token != 0 && c.era.slots.release(c.token)
	switch {
	case c.era.state == HalfOpen && !held:
		b.counts.stale.Add(1) // the lease ended and the slot is another's
	case c.era.state == HalfOpen:
		b.settleProbe(c.era, o, now)
	default:
		b.settleClosed(c.era, o, now)
		if held && o == Neutral {
			c.era.wake() // room, and no verdict
		}
	}
}

func (b *Breaker) settleClosed(e *era, o Outcome, now time.Duration) {
	switch o {
	case Success:
		b.counts.successes.Add(1)
		if !e.disabled && e.failures.Load() > 0 {
			e.failures.Store(0)
			e.wake()
		}
	case Failure:
		b.counts.failures.Add(1)
		if e.disabled {
			return
		}
		failures := int(e.failures.Add(1))
		if e.bounded && failures >= b.s.FailureThreshold {
			b.open(now)
		}
	default:
		b.counts.neutral.Add(1)
	}
}

func (b *Breaker) settleProbe(e *era, o Outcome, now time.Duration) {
	switch o {
	case Success:
		b.counts.successes.Add(1)
		e.successes++
		if e.successes >= b.s.HalfOpenMaxCalls {
			b.attempt = 0
			b.closedAt = now
			b.become(Closed, ReasonSuspect, now)
		}
	case Failure:
		b.counts.failures.Add(1)
		b.attempt++
		if b.s.recovery(b.level) < b.s.MaxRecoveryTime {
			b.level++
		}
		b.become(Open, ReasonOpen, now)
	default:
		b.counts.neutral.Add(1)
	}
}

// open trips the closed breaker.
func (b *Breaker) open(now time.Duration) {
	b.level = b.decayed(now)
	b.become(Open, ReasonOpen, now)
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

// become starts a new era. The lock is held, or the breaker not yet shared.
func (b *Breaker) become(state State, reason Reason, now time.Duration) *era {
	b.generation++
	e := &era{
		state:      state,
		generation: b.generation,
		bounded:    b.s.FailureThreshold > 0,
		refusal:    OpenError{Name: b.name, Reason: reason, attempt: b.attempt, s: b.s},
	}
	if reason == ReasonOpen {
		e.refusal.until = saturatingAdd(now, b.s.recovery(b.level))
		b.counts.opened.Add(1)
	}
	old := b.era.Load()
	b.era.Store(e)
	if old != nil {
		old.wake()
	}
	return e
}
