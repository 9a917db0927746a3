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

// NewPermit makes a permit for another kind of breaker: its first Done or
// DoneError calls done, with the error where there is one.
func NewPermit(done func(o Outcome, err error)) Permit {
	r := records.Get().(*record)
	r.done = done
	return Permit{r, r.turn.Load()}
}

// Done reports the call's outcome, from any goroutine. Only the first report
// of a permit counts. A permit that is never reported keeps its slot, if it
// holds one, until the lease ends.
func (p Permit) Done(o Outcome) {
	if b, c, done, ok := p.end(); !ok {
		return
	} else if done != nil {
		done(o, nil)
	} else {
		b.settle(c, o, nil)
	}
}

// DoneError reports the call by its error, which Config.Classify judges as
// it does for Do. ctx is the one that the call was made with.
func (p Permit) DoneError(ctx context.Context, err error) {
	b, c, done, ok := p.end()
	if !ok {
		return
	}
	if done != nil {
		done(DefaultClassify(ctx, err), err)
		return
	}
	o := Neutral // a classifier that panics blames nobody
	defer func() { b.settle(c, o, err) }()
	o = b.s.Classify(ctx, err)
}

// end takes the permit's record, once.
func (p Permit) end() (b *Breaker, c call, done func(Outcome, error), ok bool) {
	r := p.r
	if r == nil || !r.turn.CompareAndSwap(p.turn, p.turn+1) {
		return nil, call{}, nil, false
	}
	b, c, done = r.breaker, r.call, r.done
	r.done = nil
	records.Put(r)
	return b, c, done, true
}

// record is what a Permit points to. It is used again for later permits, and
// turn tells them apart: that makes Done count once without an allocation.
type record struct {
	turn    atomic.Uint64
	breaker *Breaker
	call    call
	done    func(Outcome, error) // instead of breaker
	_       [16]byte             // two records never share a cache line
}

// records holds no state, only memory to be used again. One pool serves all
// breakers, because a sync.Pool is larger than a Breaker.
var records = sync.Pool{New: func() any { return new(record) }}

func (b *Breaker) permit(c call) Permit {
	r := records.Get().(*record)
	r.breaker, r.call = b, c
	return Permit{r, r.turn.Load()}
}
