package breaker

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
)

// DefaultRegistryLimit is how many breakers a Registry holds unless told.
const DefaultRegistryLimit = 10_000

// ErrRegistryFull: the registry is at its limit, and each of its breakers
// holds something worth keeping.
var ErrRegistryFull = errors.New("breaker: registry full")

// Registry makes and holds breakers of one configuration by name: one for
// each host, say. It is bounded: at its limit, a new name takes the place of
// a breaker that was not asked for lately and that is as good as new. One
// that is OPEN, HALF_OPEN, forced, disabled, or holds a failure or a grown
// recovery time is never dropped.
//
// Keep the name, not the breaker: a dropped breaker still works, but the next
// Get of its name makes another.
type Registry struct {
	s     *settings
	limit int

	breakers sync.Map // name → *entry

	mu     sync.Mutex
	ring   []*entry // all entries, in no order
	hand   int      // where the search for one to drop goes on
	counts registryCounters
}

type entry struct {
	Breaker
	used atomic.Bool // since the hand passed
}

type registryCounters struct{ dropped, refused atomic.Uint64 }

// RegistryCounts are totals since the registry was made.
type RegistryCounts struct {
	Dropped uint64 // breakers that made place
	Refused uint64 // Gets that were answered ErrRegistryFull
}

// NewRegistry makes a registry whose breakers have the configuration c, each
// with the name that it is asked for by. limit 0: DefaultRegistryLimit. The
// memory of a breaker is about half a kilobyte, and its window's besides.
func NewRegistry(c Config, limit int) (*Registry, error) {
	s, err := newSettings(c)
	if limit < 0 {
		err = errors.Join(err, fmt.Errorf("breaker: registry limit is %d: want 1 or more, or 0 for the default", limit))
	}
	if err != nil {
		return nil, err
	}
	setDefault(&limit, DefaultRegistryLimit)
	return &Registry{s: s, limit: limit}, nil
}

// Get returns the breaker of that name, making it when it is new: all callers
// get the same one. The only error is ErrRegistryFull.
func (r *Registry) Get(name string) (*Breaker, error) {
	if v, ok := r.breakers.Load(name); ok {
		e := v.(*entry)
		if !e.used.Load() {
			e.used.Store(true)
		}
		return &e.Breaker, nil
	}
	return r.add(name)
}

func (r *Registry) add(name string) (*Breaker, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.breakers.Load(name); ok {
		return &v.(*entry).Breaker, nil
	}
	name = strings.Clone(name) // it may be part of something large
	e := &entry{}
	e.init(r.s, name)
	if len(r.ring) < r.limit {
		r.ring = append(r.ring, e)
	} else if !r.replace(e) {
		r.counts.refused.Add(1)
		return nil, fmt.Errorf("%w: no place for %q among %d breakers that are all open or failing", ErrRegistryFull, name, r.limit)
	}
	r.breakers.Store(name, e)
	return &e.Breaker, nil
}

// replace puts e in the place of an entry that may be dropped: the first not
// used since the hand last passed it. Two rounds find one if there is one.
func (r *Registry) replace(e *entry) bool {
	for range 2 * len(r.ring) {
		place := &r.ring[r.hand]
		r.hand = (r.hand + 1) % len(r.ring)
		if (*place).used.Swap(false) || !(*place).likeNew() {
			continue
		}
		r.breakers.Delete((*place).Name())
		r.counts.dropped.Add(1)
		*place = e
		return true
	}
	return false
}

// Remove drops the breaker of that name, whatever its state.
func (r *Registry) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.breakers.LoadAndDelete(name)
	if !ok {
		return
	}
	last := len(r.ring) - 1
	for i, e := range r.ring {
		if e == v.(*entry) {
			r.ring[i] = r.ring[last]
			r.ring[last] = nil
			r.ring = r.ring[:last]
			break
		}
	}
	if r.hand >= len(r.ring) {
		r.hand = 0
	}
}

// All ranges over the breakers, in no order. It does not count as use.
func (r *Registry) All() iter.Seq[*Breaker] {
	return func(yield func(*Breaker) bool) {
		r.breakers.Range(func(_, v any) bool { return yield(&v.(*entry).Breaker) })
	}
}

// Len is how many breakers the registry holds.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ring)
}

// Counts reads the registry's own counters.
func (r *Registry) Counts() RegistryCounts {
	return RegistryCounts{Dropped: r.counts.dropped.Load(), Refused: r.counts.refused.Load()}
}

// likeNew reports that a new breaker would behave as b does.
func (b *Breaker) likeNew() bool {
	now := b.s.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.era.Load()
	if e.state != Closed || e.disabled || e.failures.Load() > 0 || len(e.slots.held) > 0 || b.decayed(now) > 0 {
		return false
	}
	return b.window == nil || b.window.spotless(now)
}
