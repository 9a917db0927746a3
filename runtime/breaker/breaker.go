package breaker

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Breaker is a circuit breaker. Make it with New; it is safe for concurrent
// use and must not be copied.
type Breaker struct {
	s    *settings
	name string

	// era is replaced under mu and read without it.
	era    atomic.Pointer[era]
	counts counters

	mu         sync.Mutex
	generation uint64
	tokens     uint64        // the last one given to a slot
	attempt    int           // recoveries that failed since the last close
	level      int           // how often the recovery time is doubled
	closedAt   time.Duration // when the breaker closed: level decays from here
	window     *window       // nil without one
}

// era is one generation: the time between two transitions. A call keeps the
// era that admitted it, and its result counts only while that is the current
// one; so a late result can change nothing.
type era struct {
	state      State
	generation uint64
	// bounded is set when failures limit the calls in flight.
	bounded bool
	// disabled counts nothing and never opens.
	disabled bool
	// refusal is what refused calls get; in CLOSED, those at the trip edge.
	refusal OpenError

	// failures in a row, in CLOSED. Written under the breaker's lock.
	failures atomic.Int64

	// Guarded by the breaker's lock.
	successes int // in HALF_OPEN
	slots     slots
	verdict   chan struct{} // closed when those who wait should look again
}

// unlimited reports that any number of calls may run.
func (e *era) unlimited() bool {
	return e.state == Closed && (!e.bounded || e.failures.Load() == 0)
}

// call is an admitted call.
type call struct {
	era     *era
	token   uint64        // 0: it holds no slot
	started time.Duration // when calls are timed
}

// New makes a breaker, or lists every fault of the configuration.
func New(c Config) (*Breaker, error) {
	s, err := newSettings(c)
	if err != nil {
		return nil, err
	}
	return newBreaker(s, c.Name), nil
}

func newBreaker(s *settings, name string) *Breaker {
	b := &Breaker{s: s, name: name}
	b.become(Closed, ReasonSuspect, s.now())
	return b
}

// Name is the name of the configuration.
func (b *Breaker) Name() string { return b.name }

// TryAcquire takes the permit for one call or answers a *OpenError at once,
// without allocating. Every permit must be reported with Done.
func (b *Breaker) TryAcquire() (Permit, error) {
	c, refusal := b.admit()
	if refusal != nil {
		b.refused(refusal)
		return Permit{}, refusal
	}
	return b.permit(c), nil
}

// Acquire is TryAcquire, but a call at the trip edge waits until the calls
// under way have decided whether the breaker opens. When ctx ends first, its
// error is returned. In OPEN and HALF_OPEN it does not wait.
func (b *Breaker) Acquire(ctx context.Context) (Permit, error) {
	c, err := b.await(ctx)
	if err != nil {
		return Permit{}, err
	}
	return b.permit(c), nil
}

// State is the state that a call made now would meet: OPEN turns to HALF_OPEN
// when the recovery time is over, although the transition itself happens, and
// is reported, with the first call.
func (b *Breaker) State() State {
	e := b.era.Load()
	if e.state == Open && b.s.now() >= e.refusal.until {
		return HalfOpen
	}
	return e.state
}

// Room is how many calls could start now without being refused;
// math.MaxInt when there is no limit.
func (b *Breaker) Room() int {
	e := b.era.Load()
	if e.unlimited() {
		return math.MaxInt
	}
	now := b.s.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	e = b.era.Load()
	switch {
	case e.unlimited():
		return math.MaxInt
	case e.state == Open && now < e.refusal.until:
		return 0
	case e.state == Open:
		return b.s.HalfOpenMaxCalls
	}
	return max(0, b.limit(e)-e.slots.live(now))
}

// RetryIn is the time until Room may be above 0 again; 0 when it is. In OPEN
// that is the rest of the recovery time. Elsewhere room comes with the end of
// a call, which cannot be foretold: the answer is BaseBackoff, or the end of
// the earliest lease when that is sooner; for a forced breaker MaxBackoff.
func (b *Breaker) RetryIn() time.Duration {
	if b.Room() > 0 {
		return 0
	}
	e := b.era.Load()
	switch {
	case e.unlimited():
		return 0
	case e.refusal.Reason == ReasonForced:
		return b.s.MaxBackoff
	case e.state == Open:
		return e.refusal.Remaining()
	}
	now := b.s.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(e.slots.held) == 0 {
		return 0
	}
	return max(1, min(b.s.BaseBackoff, e.slots.next-now))
}

// limit is how many slots a bounded era has.
func (b *Breaker) limit(e *era) int {
	if e.state == HalfOpen {
		return b.s.HalfOpenMaxCalls - e.successes
	}
	return b.s.FailureThreshold - int(e.failures.Load())
}

// admit starts a call or says why not.
func (b *Breaker) admit() (call, *OpenError) {
	if e := b.era.Load(); e.unlimited() {
		c := call{era: e}
		if b.s.timed {
			c.started = b.s.now()
		}
		return c, nil
	}
	return b.admitBounded()
}

func (b *Breaker) admitBounded() (call, *OpenError) {
	now := b.s.now()
	if e := b.era.Load(); e.state == Open && now < e.refusal.until {
		return call{}, &e.refusal
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.era.Load()
	if e.state == Open {
		if now < e.refusal.until {
			return call{}, &e.refusal
		}
		e = b.become(HalfOpen, ReasonHalfOpen, now)
	}
	c := call{era: e, started: now}
	if e.unlimited() {
		return c, nil
	}
	granted, expired := e.slots.take(b.tokens+1, now, b.s.Lease, b.limit(e))
	b.counts.expired.Add(uint64(expired))
	if !granted {
		return call{}, &e.refusal
	}
	b.tokens++
	c.token = b.tokens
	return c, nil
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
		verdict, lease := b.pending()
		if verdict == nil {
			continue
		}
		timer := time.NewTimer(lease)
		select {
		case <-verdict:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			b.refused(refusal)
			return call{}, ctx.Err()
		}
		timer.Stop()
	}
}

// pending returns what a call at the trip edge waits for: the verdict of the
// calls under way, or the end of the earliest lease. nil: look again now.
func (b *Breaker) pending() (<-chan struct{}, time.Duration) {
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
	return e.verdict, e.slots.next - now
}

// wake lets those who wait look again. The lock is held.
func (e *era) wake() {
	if e.verdict != nil {
		close(e.verdict)
		e.verdict = nil
	}
}

// refused counts a refused call.
func (b *Breaker) refused(e *OpenError) { b.counts.refused[e.Reason].Add(1) }
