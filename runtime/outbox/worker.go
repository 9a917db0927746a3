package outbox

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// worker is one of a lane's MaxInFlight goroutines. It makes the attempts of
// one run after another.
type worker struct {
	lane *lane

	// Under lane.mu:
	run      *run
	started  time.Time // the attempt under way, or the run's start
	deadline time.Time // of the attempt under way; zero between attempts
	reported time.Time // when it was last said that the attempt is overdue
	cancel   context.CancelCauseFunc
	stale    bool // ctx was cancelled for a lost lease

	// The worker's own:
	ctx    context.Context // parent of its attempts
	permit breaker.Permit
	at     *Delivery // the delivery whose attempt is under way
}

// work makes attempts until the lane closes. leave cleans up even when a
// sender ends the goroutine.
func (w *worker) work() {
	defer w.leave()
	for r := w.take(); r != nil; r = w.take() {
		for w.step(r) {
		}
	}
}

// leave takes the worker off the crew. An attempt still under way means that
// its sender called runtime.Goexit: that is a failed attempt, and the slot is
// another worker's.
func (w *worker) leave() {
	l := w.lane
	if w.at != nil {
		l.count.panics.Add(1)
		w.answered(w.run, Outcome{
			Result:  Failed,
			Breaker: breaker.Failure,
			Failure: &Failure{Cause: CauseExit, Message: "the sender ended its goroutine (runtime.Goexit)"},
		})
	}
	w.cancel(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.run != nil {
		l.release(w)
	}
	for i, other := range l.crew {
		if other == w {
			l.crew[i] = l.crew[len(l.crew)-1]
			l.crew = l.crew[:len(l.crew)-1]
			break
		}
	}
	l.rouse()
}

// renewContext replaces a context that was cancelled; lane.mu is held, or the
// worker has not started.
func (w *worker) renewContext() {
	w.ctx, w.cancel = w.lane.d.workerContext()
	w.stale = false
}

// take ends the worker's run and waits for the next; nil: the lane is closed.
func (w *worker) take() *run {
	l := w.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.run != nil {
		l.release(w)
	}
	for {
		if l.closed {
			return nil
		}
		if r := l.startable(); r != nil {
			l.queue.popFront()
			l.begin(w, r)
			return r
		}
		l.idle++
		l.available.Wait()
	}
}

// begin gives the worker its run; mu is held.
func (l *lane) begin(w *worker, r *run) {
	now := time.Now()
	l.buffered -= len(r.members)
	l.inFlight++
	l.count.buffered.Store(int64(l.buffered))
	l.count.inFlight.Store(int64(l.inFlight))
	l.starting.Add(1)
	if r.suspect {
		l.reserved = false
	}
	if now.Sub(r.since) > longWait {
		l.depth /= 2
	}
	w.run, w.started, w.deadline = r, now, time.Time{}
	if w.stale {
		w.renewContext()
	}
	l.fed()
	l.rouse()
}

// release ends the worker's run; mu is held.
func (l *lane) release(w *worker) {
	w.run, w.deadline = nil, time.Time{}
	l.inFlight--
	l.count.inFlight.Store(int64(l.inFlight))
	l.gatedUntil = time.Time{} // an attempt has ended: the breaker may think anew
	l.fed()
	l.rouse()
}

// step makes the attempt of r's first member; false: r is over, or was given
// or put back.
func (w *worker) step(r *run) bool {
	l, head := w.lane, r.members[0]
	if knows := l.dest.Knows; knows != nil && !knows(head.Type, head.Version) {
		l.starting.Add(-1)
		l.reportUnknown(head)
		w.giveBackRun(r, UnknownDelay)
		return false
	}
	if !w.acquire(r) {
		return false
	}
	if !w.launch(r) {
		w.permit.Done(breaker.Neutral)
		w.giveBackRun(r, 0)
		return false
	}
	out := w.attempt(head)
	return w.answered(r, out)
}

// acquire takes the breaker's permit. A refusal costs the run nothing: it goes
// back to the head of the buffer while the breaker is closed, and else to the
// store with the whole buffer.
func (w *worker) acquire(r *run) bool {
	l := w.lane
	defer l.starting.Add(-1)
	w.permit = breaker.Permit{}
	if l.dest.Breaker == nil {
		return true
	}
	permit, err := l.dest.Breaker.TryAcquire()
	if err == nil {
		w.permit = permit
		return true
	}
	closed, retryIn := l.dest.Breaker.State() == breaker.Closed, l.dest.Breaker.RetryIn()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !closed:
		l.giveBack(r, 0)
		l.giveBackBuffer()
	case r.suspect || l.closed:
		l.giveBack(r, 0)
	default:
		l.queue.pushFront(r)
		l.buffered += len(r.members)
		l.count.buffered.Store(int64(l.buffered))
	}
	w.run = nil
	l.inFlight--
	l.count.inFlight.Store(int64(l.inFlight))
	l.gate(time.Now(), retryIn)
	return false
}

// launch sees to it that the leases cover the attempt and marks it as under
// way; false: the run must be given back.
func (w *worker) launch(r *run) bool {
	l := w.lane
	l.mu.Lock()
	if !l.covers(r, time.Now()) && !r.lost && !l.closed {
		l.mu.Unlock()
		l.d.renewRuns(context.WithoutCancel(w.ctx), l, []*run{r})
		l.mu.Lock()
	}
	defer l.mu.Unlock()
	now := time.Now()
	if l.closed || r.lost || !l.covers(r, now) {
		return false
	}
	w.started, w.deadline, w.reported = now, now.Add(l.dest.Timeout), time.Time{}
	return true
}

// covers reports that an attempt started now would end within r's leases; mu
// is held.
func (l *lane) covers(r *run, now time.Time) bool {
	return !r.leaseEnd.Before(now.Add(l.dest.Timeout))
}

// attempt calls the sender. A panic becomes a failed attempt with its stack.
func (w *worker) attempt(d *Delivery) (out Outcome) {
	ctx, cancel := context.WithDeadline(w.ctx, w.deadline)
	defer cancel()
	w.at = d
	defer func() {
		if v := recover(); v != nil {
			w.lane.count.panics.Add(1)
			out = Outcome{
				Result:  Failed,
				Breaker: breaker.Failure,
				Failure: &Failure{Cause: CausePanic, Message: fmt.Sprintf("panic: %v\n%s", v, debug.Stack())},
			}
		}
	}()
	if d.Trace != (Trace{}) {
		ctx = ContextWithTrace(ctx, d.Trace)
	}
	out = w.lane.dest.Sender.Send(ctx, d)
	if out.Result == Failed && errors.Is(ctx.Err(), context.Canceled) {
		out.Result, out.Breaker = Cancelled, breaker.Neutral
	}
	return out
}

// answered records the attempt's outcome; false: r is over.
func (w *worker) answered(r *run, out Outcome) bool {
	l, d := w.lane, w.at
	w.at = nil
	out = w.complete(out)
	if out.Result == Unknown {
		l.reportUnknown(d)
	}
	w.permit.Done(out.Breaker)
	w.permit = breaker.Permit{}
	tripped := out.Breaker == breaker.Failure && l.dest.Breaker != nil && l.dest.Breaker.State() == breaker.Open

	l.mu.Lock()
	defer l.mu.Unlock()
	d = r.members[0] // the same delivery, under a newer lease if it was adopted
	e := l.answerEntry(d, r, out)
	w.deadline = time.Time{}
	r.members = r.members[1:]
	l.effects(out, &e)
	if tripped {
		e.trip = true
		l.giveBackBuffer()
	}
	if out.Result == Delivered && len(r.members) > 0 && !l.closed && !r.lost && !tripped {
		l.recordOneLocked(e)
		l.starting.Add(1)
		w.started = time.Now()
		if w.stale {
			w.renewContext()
		}
		return true
	}
	if len(r.members) == 0 {
		l.recordOneLocked(e)
		return false
	}
	// The remainder goes back in the transaction that records its failed member.
	e.joined = true
	l.recordLocked(l.appendGivenBack([]entry{e}, r, r.members, 0))
	r.members = nil
	return false
}

// giveBackRun gives back a run that this worker has.
func (w *worker) giveBackRun(r *run, delay time.Duration) {
	w.lane.mu.Lock()
	defer w.lane.mu.Unlock()
	w.lane.giveBack(r, delay)
	r.members = nil
}

func (l *lane) recordOneLocked(e entry) {
	l.unrecorded++
	l.d.settler.addOne(e)
}
