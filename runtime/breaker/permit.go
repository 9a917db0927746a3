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
	if e, ok := p.end(); ok {
		e.report(o, nil)
	}
}

// DoneError reports the call by its error, which Config.Classify judges as
// it does for Do. ctx is the one that the call was made with.
func (p Permit) DoneError(ctx context.Context, err error) {
	e, ok := p.end()
	if !ok {
		return
	}
	classify := DefaultClassify
	if e.breaker != nil {
		classify = e.breaker.s.Classify
	}
	o := Neutral // a classifier that panics blames nobody
	defer func() { e.report(o, err) }()
	o = classify(ctx, err)
}

func (p Permit) end() (ending, bool) {
	if p.r == nil || !p.r.turn.CompareAndSwap(p.turn, p.turn+1) {
		return ending{}, false
	}
	e := p.r.ending
	p.r.ending = ending{}
	records.Put(p.r)
	return e, true
}

// record is what a Permit points to. It is used again for later permits, and
// turn tells them apart: that makes Done count once without an allocation.
type record struct {
	turn atomic.Uint64
	ending
}

// ending is where a permit's report goes.
type ending struct {
	breaker *Breaker
	call    call
	done    func(Outcome, error) // instead of breaker
}

func (e *ending) report(o Outcome, err error) {
	if e.done != nil {
		e.done(o, err)
		return
	}
	e.breaker.settle(e.call, o, err)
}

// records holds no state, only memory to be used again. One pool serves all
// breakers, because a sync.Pool is larger than a Breaker.
var records = sync.Pool{New: func() any { return new(record) }}

func (b *Breaker) permit(c call) Permit {
	r := records.Get().(*record)
	r.breaker, r.call = b, c
	return Permit{r, r.turn.Load()}
}
