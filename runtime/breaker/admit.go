package breaker

import (
	"context"
	"time"
)

// call is an admitted call.
type call struct {
	era     *era
	token   uint64        // 0: it holds no slot
	started time.Duration // when calls are timed
}

// admit starts a call or says why not.
func (b *Breaker) admit() (call, *OpenError) {
	if e := b.era.Load(); e.unlimited() && !b.s.timed {
		return call{era: e}, nil
	}
	return b.admitByClock()
}

func (b *Breaker) admitByClock() (call, *OpenError) {
	now := b.s.now()
	e := b.era.Load()
	if e.unlimited() {
		return call{era: e, started: now}, nil
	}
	if e.shut(now) {
		return call{}, &e.refusal
	}
	return b.admitLimited(now)
}

func (b *Breaker) admitLimited(now time.Duration) (call, *OpenError) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.era.Load()
	if e.shut(now) {
		return call{}, &e.refusal
	}
	if e.state == Open {
		e = b.become(b.newEra(HalfOpen), CauseRecoveryTime, result{})
	}
	c := call{era: e, started: now}
	if e.unlimited() {
		return c, nil
	}
	granted, expired := e.slots.take(b.tokens+1, now, b.s.Lease, b.limit(e))
	b.counts.expiredLeases.Add(uint64(expired))
	if !granted {
		return call{}, &e.refusal
	}
	b.tokens++
	c.token = b.tokens
	return c, nil
}

// limit is how many slots an era has that is not unlimited.
func (b *Breaker) limit(e *era) int {
	if e.state == HalfOpen {
		return b.s.HalfOpenMaxCalls - e.successes
	}
	return b.s.FailureThreshold - int(e.failures.Load())
}

// await is admit for callers who can wait at the trip edge.
func (b *Breaker) await(ctx context.Context) (call, error) {
	for {
		c, refusal := b.admit()
		if refusal == nil {
			return c, nil
		}
		if refusal.Reason != ReasonSuspect {
			b.refused(refusal)
			return call{}, refusal
		}
		if err := b.awaitVerdict(ctx); err != nil {
			b.refused(refusal)
			return call{}, err
		}
	}
}

// awaitVerdict returns when a call at the trip edge should try again: after
// the verdict of the calls under way, or at the end of the earliest lease.
func (b *Breaker) awaitVerdict(ctx context.Context) error {
	verdict, lease := b.pending()
	if verdict == nil {
		return nil
	}
	timer := time.NewTimer(lease)
	defer timer.Stop()
	select {
	case <-verdict:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// pending returns the verdict that is waited for and the time until the
// earliest lease ends; nil when there is room already.
func (b *Breaker) pending() (verdict <-chan struct{}, lease time.Duration) {
	now := b.s.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.era.Load()
	if e.state != Closed || e.unlimited() || e.slots.live(now) < b.limit(e) {
		return nil, 0
	}
	if e.verdict == nil {
		e.verdict = make(chan struct{})
	}
	return e.verdict, e.slots.earliest(now)
}
