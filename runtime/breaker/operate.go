package breaker

import "time"

// ForceOpen refuses every call, without a probe and without end, until Reset
// or Disable.
func (b *Breaker) ForceOpen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.era.Load().refusal.Reason == ReasonForced {
		return
	}
	e := b.newEra(Open)
	e.refusal.Reason = ReasonForced
	e.refusal.until = forever
	b.become(e, CauseForced, result{})
}

// Disable admits every call and counts towards nothing, until Reset or
// ForceOpen. The state reads CLOSED.
func (b *Breaker) Disable() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.era.Load().disabled {
		return
	}
	e := b.newEra(Closed)
	e.disabled, e.bounded = true, false
	b.become(e, CauseDisabled, result{})
}

// Reset closes the breaker as if it were new: it ends ForceOpen and Disable,
// forgets failures, and results of calls that are under way count no more.
// The counters of Counts go on.
func (b *Breaker) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attempt, b.level = 0, 0
	b.become(b.newEra(Closed), CauseReset, result{})
}

// OpenFor opens the breaker for d from now, for a reason that was found
// elsewhere: by another process, by an earlier run, by a Retry-After. Then it
// goes on as after any opening. It never shortens an open time, and does
// nothing when d is not above 0 or the breaker is forced open or disabled.
func (b *Breaker) OpenFor(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.s.now()
	e := b.era.Load()
	if d <= 0 || e.disabled || e.shut(now) && e.refusal.until-now >= d {
		return
	}
	if e.state == Closed {
		b.level = b.decayed(now)
	}
	b.become(b.openEra(d), CauseOpenFor, result{})
}

// Recovered closes the breaker as if its probes had succeeded, for a recovery
// that was found elsewhere. It does nothing when the breaker is closed, forced
// open or disabled.
func (b *Breaker) Recovered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.era.Load(); e.state == Closed || e.refusal.Reason == ReasonForced {
		return
	}
	b.attempt = 0
	b.become(b.newEra(Closed), CauseRecovered, result{})
}

// Refusal makes the error that refuses a call for a reason which is not this
// breaker's own, such as a limit that its fleet shares.
func (b *Breaker) Refusal(r Reason) *OpenError {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &OpenError{
		Name: b.Name(), Reason: r, attempt: b.attempt, s: b.s,
		until: b.era.Load().refusal.until,
	}
}
