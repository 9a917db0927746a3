package breaker

import (
	"context"
	"sync"
	"sync/atomic"
)

// Permit is the right to make one call; it ends with Done or DoneError. It is
// a small value: copies are the same permit. The zero Permit does nothing.
type Permit struct {
	r    *record
	turn uint64
}

// Then has done called with the outcome after the permit's first report has
// counted. It is for breakers that stand before this one, and must be called
// at most once, before the permit is handed on.
func (p Permit) Then(done func(Outcome)) {
	if p.r != nil {
		p.r.done = done
	}
}

// Done reports the call's outcome, from any goroutine. Only the first report
// of a permit counts. A permit that is never reported keeps its slot, if it
// holds one, until the lease ends.
func (p Permit) Done(o Outcome) {
	b, c, done := p.end()
	if b == nil {
		return
	}
	b.settle(c, o, nil)
	if done != nil {
		done(o)
	}
}

// DoneError reports the call by its error, which Config.Classify judges as
// it does for Do. ctx is the one that the call was made with.
func (p Permit) DoneError(ctx context.Context, err error) {
	b, c, done := p.end()
	if b == nil {
		return
	}
	o := Neutral // a classifier that panics blames nobody
	defer func() {
		b.settle(c, o, err)
		if done != nil {
			done(o)
		}
	}()
	o = b.s.Classify(ctx, err)
}

// end takes what the permit's record holds, once: else b is nil.
func (p Permit) end() (b *Breaker, c call, done func(Outcome)) {
	r := p.r
	if r == nil || !r.turn.CompareAndSwap(p.turn, p.turn+1) {
		return nil, call{}, nil
	}
	b, c, done = r.breaker, r.call, r.done
	r.done = nil
	records.Put(r)
	return b, c, done
}

// record is what a Permit points to. It is used again for later permits, and
// turn tells them apart: that makes Done count once without an allocation.
type record struct {
	turn    atomic.Uint64
	breaker *Breaker
	call    call
	done    func(Outcome) // may be nil
	_       [16]byte      // two records never share a cache line
}

// records holds no state, only memory to be used again. One pool serves all
// breakers, because a sync.Pool is larger than a Breaker.
var records = sync.Pool{New: func() any { return new(record) }}

func (b *Breaker) permit(c call) Permit {
	r := records.Get().(*record)
	r.breaker, r.call = b, c
	return Permit{r, r.turn.Load()}
}
