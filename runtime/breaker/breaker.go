package breaker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Breaker is a circuit breaker. Make it with New; it is safe for concurrent
// use and must not be copied.
type Breaker struct {
	s *settings

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
	reports    atomic.Pointer[reports]
}

// era is one generation: the time between two transitions. A call keeps the
// era that admitted it, and its result counts only while that is the current
// one; so a late result can change nothing.
type era struct {
	state State
	// bounded is set when failures limit the calls in flight.
	bounded bool
	// disabled: nothing counts and nothing opens.
	disabled   bool
	generation uint64
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

// shut reports that the recovery time still runs at now.
func (e *era) shut(now time.Duration) bool {
	return e.state == Open && now < e.refusal.until
}

// wake lets those who wait look again. The breaker's lock is held.
func (e *era) wake() {
	if e.verdict != nil {
		close(e.verdict)
		e.verdict = nil
	}
}

// New makes a breaker, or lists every fault of the configuration.
func New(c Config) (*Breaker, error) {
	s, err := newSettings(c)
	if err != nil {
		return nil, err
	}
	b := &Breaker{}
	b.init(s, c.Name)
	return b, nil
}

func (b *Breaker) init(s *settings, name string) {
	b.s, b.window = s, newWindow(s.Window)
	b.era.Store(&era{refusal: OpenError{Name: name}}) // each era takes the name on
	b.era.Store(b.newEra(Closed))
	b.closedAt = s.now()
}

// Config is the breaker's configuration with the defaults filled in.
func (b *Breaker) Config() Config {
	c := b.s.Config
	c.Name = b.Name()
	return c
}

// Name is the name that the breaker was made with.
func (b *Breaker) Name() string { return b.era.Load().refusal.Name }

// TryAcquire takes the permit for one call or answers a *OpenError at once;
// neither allocates. Every permit must be reported with Done.
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
