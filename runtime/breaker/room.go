package breaker

import (
	"math"
	"time"
)

// State is the state that a call made now would meet: OPEN reads HALF_OPEN
// once the recovery time is over, although the transition itself happens, and
// is reported, with the first call.
func (b *Breaker) State() State {
	e := b.era.Load()
	if e.state == Open && !e.shut(b.s.now()) {
		return HalfOpen
	}
	return e.state
}

// Room is how many calls could start now without being refused;
// math.MaxInt when there is no limit.
func (b *Breaker) Room() int {
	room, _ := b.room()
	return room
}

// RetryIn is the time until Room may be above 0 again; 0 when it is. In OPEN
// that is the rest of the recovery time. Elsewhere room comes with the end of
// a call, which cannot be foretold: the answer is BaseBackoff, or the end of
// the earliest lease when that is sooner; for a forced breaker MaxBackoff.
func (b *Breaker) RetryIn() time.Duration {
	_, in := b.room()
	return in
}

func (b *Breaker) room() (room int, retryIn time.Duration) {
	if b.era.Load().unlimited() {
		return math.MaxInt, 0
	}
	now := b.s.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.era.Load()
	switch {
	case e.unlimited():
		return math.MaxInt, 0
	case e.shut(now) && e.refusal.Reason == ReasonForced:
		return 0, b.s.MaxBackoff
	case e.shut(now):
		return 0, e.refusal.until - now
	case e.state == Open:
		return b.s.HalfOpenMaxCalls, 0
	}
	if room := b.limit(e) - e.slots.live(now); room > 0 {
		return room, 0
	}
	return 0, max(1, min(b.s.BaseBackoff, e.slots.earliest(now)))
}
