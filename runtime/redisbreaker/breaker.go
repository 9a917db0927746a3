package redisbreaker

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// holdOff is how long a process that was refused a slot by the fleet refuses
// further calls itself before it asks again; the half of it is random.
const holdOff = 50 * time.Millisecond

// Breaker is a circuit breaker shared by a fleet. Make it with New; it is
// safe for concurrent use.
type Breaker struct {
	local *breaker.Breaker
	store *store

	id     string // of this process, in tokens
	tokens atomic.Uint64

	// failures that the store counted when it last answered.
	failures atomic.Int64
	// now is the local breaker's clock.
	now func() time.Duration
	// heldUntil is a time by now: until then the fleet has no slot for us.
	heldUntil atomic.Int64
	held      atomic.Pointer[breaker.OpenError]

	mu sync.Mutex
	// seen is the time of the newest generation that was followed.
	seen int64
	// followed is the generation of the OPEN that the local breaker follows.
	followed int64
}

// New makes a breaker, or lists every fault of the configuration. It does not
// connect.
func New(c Config) (*Breaker, error) {
	c = c.withDefaults()
	local, localErr := breaker.New(c.Breaker)
	if err := errors.Join(c.validate(), localErr); err != nil {
		return nil, err
	}
	s, err := newStore(c, local.Config())
	if err != nil {
		return nil, err
	}
	now := c.Breaker.Now
	if now == nil {
		epoch := time.Now()
		now = func() time.Duration { return time.Since(epoch) }
	}
	return &Breaker{
		local: local,
		store: s,
		id:    strconv.FormatUint(rand.Uint64(), 36) + "-",
		now:   now,
	}, nil
}

// Local is this process's own breaker: for its Counts, Flush and ForceOpen.
// Calls must ask the shared one.
func (b *Breaker) Local() *breaker.Breaker { return b.local }

// State is the local breaker's, which follows the fleet's when it hears of it.
func (b *Breaker) State() breaker.State { return b.local.State() }

// Room is how many calls could start now as far as this process knows;
// math.MaxInt when there is no limit.
func (b *Breaker) Room() int {
	if b.heldFor() > 0 {
		return 0
	}
	return b.local.Room()
}

// RetryIn is the time until Room may be above 0 again; 0 when it is.
func (b *Breaker) RetryIn() time.Duration { return max(b.local.RetryIn(), b.heldFor()) }

// TryAcquire takes the permit for one call or answers a *breaker.OpenError.
// It may wait for Redis, at most Config.Budget. Every permit must be reported
// with Done, which may wait as long.
func (b *Breaker) TryAcquire() (breaker.Permit, error) {
	return b.acquire(func() (breaker.Permit, error) { return b.local.TryAcquire() })
}

// Acquire is TryAcquire, but a call at the trip edge waits until the calls
// under way have decided whether the breaker opens. When ctx ends first, its
// error is returned.
func (b *Breaker) Acquire(ctx context.Context) (breaker.Permit, error) {
	for {
		p, err := b.acquire(func() (breaker.Permit, error) { return b.local.Acquire(ctx) })
		open, refused := err.(*breaker.OpenError)
		if !refused || open.Reason != breaker.ReasonSuspect {
			return p, err
		}
		timer := time.NewTimer(b.heldFor())
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return breaker.Permit{}, ctx.Err()
		}
	}
}

// Do calls fn when b admits it and reports the outcome, as breaker.Do does.
func Do[T any](ctx context.Context, b *Breaker, fn func(context.Context) (T, error)) (T, error) {
	p, err := b.Acquire(ctx)
	if err != nil {
		var none T
		return none, err
	}
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit
			p.Done(breaker.Failure)
		}
	}()
	v, err := fn(ctx)
	returned = true
	p.DoneError(ctx, err)
	return v, err
}

func (b *Breaker) acquire(local func() (breaker.Permit, error)) (breaker.Permit, error) {
	if b.heldFor() > 0 {
		return breaker.Permit{}, b.held.Load()
	}
	p, err := local()
	if err != nil {
		return p, err
	}
	token := b.id + strconv.FormatUint(b.tokens.Add(1), 36)
	v, ok := b.store.run(b.store.acquire, token)
	if !ok {
		return p, nil
	}
	closed := b.follow(v)
	if !v.yes {
		p.Done(breaker.Neutral)
		return breaker.Permit{}, b.refuse(v)
	}
	if closed { // p belongs to what was before
		p.Done(breaker.Neutral)
		if p, err = local(); err != nil {
			b.report(token, v, breaker.Neutral)
			return p, err
		}
	}
	p.Then(func(o breaker.Outcome) { b.report(token, v, o) })
	return p, nil
}

// follow makes the local breaker follow the fleet's state, unless a newer one
// was followed already. It reports whether the local
// breaker was closed.
func (b *Breaker) follow(v verdict) (closed bool) {
	b.failures.Store(v.failures)
	b.mu.Lock()
	defer b.mu.Unlock()
	at := max(v.generation, -v.generation)
	if at < b.seen {
		return false
	}
	b.seen = at
	switch {
	case v.state == stateOpen && (b.followed != at || b.local.State() != breaker.Open):
		b.followed = at
		b.local.OpenFor(v.wait)
	case v.state == stateClosed && b.followed != 0:
		b.followed = 0
		b.local.Recovered()
		return true
	}
	return false
}

func (b *Breaker) refuse(v verdict) error {
	if v.state == stateOpen {
		return b.local.Refusal(breaker.ReasonOpen)
	}
	reason := breaker.ReasonSuspect
	if v.state == stateHalfOpen {
		reason = breaker.ReasonHalfOpen
	}
	refusal := b.local.Refusal(reason)
	b.held.Store(refusal)
	b.heldUntil.Store(int64(b.now() + holdOff/2 + rand.N(holdOff/2)))
	return refusal
}

func (b *Breaker) heldFor() time.Duration {
	until := b.heldUntil.Load()
	if until == 0 {
		return 0
	}
	return max(0, time.Duration(until)-b.now())
}

// report tells the store how a call ended that it admitted by v.
func (b *Breaker) report(token string, v verdict, o breaker.Outcome) {
	bounded := v.state == stateHalfOpen || v.failures > 0
	if !bounded && (o == breaker.Neutral || o == breaker.Success && b.failures.Load() == 0) {
		return // there is nothing to change
	}
	if after, ok := b.store.run(b.store.report, token, v.generation, o.String()); ok {
		b.follow(after)
	}
	b.heldUntil.Store(0) // the slot that this call gave back may be ours
}
