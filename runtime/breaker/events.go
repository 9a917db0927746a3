package breaker

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
)

// Names of the events, in the attribute "event". Transitions are
// state_transition_<from>_to_<to>.
const (
	eventSucceeded = "call_succeeded"
	eventFailed    = "call_failed"
	eventIgnored   = "call_ignored"
	eventStale     = "call_stale"
	eventRefused   = "call_rejected_circuit_open"
)

const (
	// refusalSample is how often refusals are reported while they go on.
	refusalSample = time.Second
	// maxPendingCalls bounds the events of calls that wait for a slow logger.
	// Transitions are rare, and are always kept.
	maxPendingCalls = 1024
)

// reports are what waits to be told to the hook and the logger. They are
// queued under the breaker's lock, so that their order is the order of what
// happened, and told outside of it by one goroutine at a time, which lives as
// long as there is something to tell.
type reports struct {
	// Guarded by the breaker's lock.
	pending []report
	telling bool
	told    chan struct{} // closed when pending is empty; nil when nobody waits

	// Refusals are sampled without the lock.
	nextSample atomic.Int64
	unreported atomic.Uint64

	lost, hookFailures atomic.Uint64
}

// reporting returns the reports, or nil when nobody listens. They are made
// when there is first something to tell, so that a healthy breaker stays small.
func (b *Breaker) reporting() *reports {
	if b.s.Logger == nil && b.s.OnTransition == nil {
		return nil
	}
	if b.reports.Load() == nil {
		b.reports.CompareAndSwap(nil, new(reports))
	}
	return b.reports.Load()
}

type report struct {
	event      string
	at         time.Time
	state      State
	generation uint64
	failures   int64
	successes  int
	latency    time.Duration
	backoff    time.Duration
	remaining  time.Duration
	errorType  string
	reason     string
	refused    uint64      // calls, with eventRefused
	transition *Transition // nil for events of calls
}

// reportCall queues the event of one call when these are asked for.
func (b *Breaker) reportCall(event string, r result) {
	if !b.s.everyCall {
		return
	}
	rep := b.describe(event, b.era.Load())
	rep.latency, rep.errorType = r.latency, errorType(r.err)
	b.queue(rep)
}

func (b *Breaker) reportTransition(old, e *era, cause Cause, r result) {
	q := b.reporting()
	if q == nil {
		return
	}
	if cause == CauseOpenFor && old.state == Open {
		return // it only stays open for longer
	}
	b.queueRefusals(old, old.refusal.Reason) // those that the samples left out
	q.nextSample.Store(0)                    // the first refusal of an era is reported
	rep := b.describe("state_transition_"+strings.ToLower(old.state.String())+"_to_"+strings.ToLower(e.state.String()), e)
	rep.failures, rep.successes = old.failures.Load(), old.successes
	rep.latency, rep.errorType = r.latency, errorType(r.err)
	rep.reason = string(cause)
	if old.state == e.state {
		rep.event = string(cause) // an operation that left the state as it was
	} else {
		rep.transition = &Transition{
			Name: b.Name(), From: old.state, To: e.state, Cause: cause,
			Generation: e.generation, At: rep.at, OpenFor: rep.remaining,
		}
	}
	b.queue(rep)
}

// refused counts a refused call and reports it, at most once in refusalSample
// unless every call is asked for.
func (b *Breaker) refused(e *OpenError) {
	b.counts.refused[e.Reason].Add(1)
	if b.s.Logger == nil {
		return
	}
	q := b.reporting()
	q.unreported.Add(1)
	if !b.s.everyCall {
		now, next := b.s.now(), q.nextSample.Load()
		if now < time.Duration(next) || !q.nextSample.CompareAndSwap(next, int64(saturatingAdd(now, refusalSample))) {
			return
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queueRefusals(b.era.Load(), e.Reason)
}

func (b *Breaker) queueRefusals(e *era, reason Reason) {
	n := b.reporting().unreported.Swap(0)
	if n == 0 {
		return
	}
	rep := b.describe(eventRefused, e)
	rep.backoff = e.refusal.Backoff()
	rep.reason, rep.refused = reason.String(), n
	b.queue(rep)
}

func (b *Breaker) describe(event string, e *era) report {
	rep := report{
		event: event, at: time.Now(), state: e.state, generation: e.generation,
		failures: e.failures.Load(), successes: e.successes,
	}
	if e.state == Open {
		rep.remaining = e.refusal.Remaining()
		rep.backoff = e.refusal.Backoff()
	}
	return rep
}

// queue appends a report. The lock is held.
func (b *Breaker) queue(rep report) {
	q := b.reporting()
	if rep.transition == nil && len(q.pending) >= maxPendingCalls {
		q.lost.Add(1)
		return
	}
	q.pending = append(q.pending, rep)
	if !q.telling {
		q.telling = true
		go b.tellAll()
	}
}

// Flush waits until everything that has happened so far is told to
// OnTransition and the Logger: before a program ends, say. It must not be
// called from OnTransition.
func (b *Breaker) Flush(ctx context.Context) error {
	told := b.untold()
	if told == nil {
		return nil
	}
	select {
	case <-told:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *Breaker) untold() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.reports.Load()
	if q == nil || !q.telling {
		return nil
	}
	if q.told == nil {
		q.told = make(chan struct{})
	}
	return q.told
}

func (b *Breaker) tellAll() {
	done := false
	defer func() {
		if !done {
			go b.tellAll() // a hook ended this goroutine; the rest must be told
		}
	}()
	for {
		rep, more := b.nextReport()
		if !more {
			done = true
			return
		}
		b.log(rep)
		b.callHook(rep.transition)
	}
}

func (b *Breaker) nextReport() (rep report, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.reporting()
	if len(q.pending) == 0 {
		q.pending, q.telling = nil, false
		if q.told != nil {
			close(q.told)
			q.told = nil
		}
		return report{}, false
	}
	rep = q.pending[0]
	q.pending = q.pending[1:]
	return rep, true
}

func (b *Breaker) callHook(t *Transition) {
	if t == nil || b.s.OnTransition == nil {
		return
	}
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		b.reporting().hookFailures.Add(1)
		if b.s.Logger != nil {
			b.s.Logger.Error("breaker: OnTransition panicked", "circuit_name", b.Name(),
				"panic", v, "stack", string(debug.Stack()))
		}
	}()
	b.s.OnTransition(*t)
}

func (b *Breaker) log(rep report) {
	if b.s.Logger == nil {
		return
	}
	defer func() {
		if recover() != nil {
			b.reporting().hookFailures.Add(1) // there is nowhere to say it
		}
	}()
	level := slog.LevelInfo
	if rep.transition != nil && rep.state == Open {
		level = slog.LevelWarn
	}
	ctx, h := context.Background(), b.s.Logger.Handler()
	if !h.Enabled(ctx, level) {
		return
	}
	r := slog.NewRecord(rep.at, level, "circuit breaker: "+rep.event, 0)
	r.AddAttrs(
		slog.String("circuit_name", b.Name()),
		slog.String("state", rep.state.String()),
		slog.String("event", rep.event),
		slog.Float64("latency_ms", float64(rep.latency)/float64(time.Millisecond)),
		slog.Int64("consecutive_failures", rep.failures),
		slog.Int("half_open_successes", rep.successes),
		slog.Float64("backoff_seconds", rep.backoff.Seconds()),
		slog.Float64("remaining_seconds", rep.remaining.Seconds()),
		slog.String("error_type", rep.errorType),
		slog.Uint64("generation", rep.generation),
	)
	if rep.reason != "" {
		r.AddAttrs(slog.String("reason", rep.reason))
	}
	if rep.refused > 0 {
		r.AddAttrs(slog.Uint64("rejected_calls", rep.refused))
	}
	_ = h.Handle(ctx, r) // a logger that fails must not fail the call
}

// errorType names an error without its text, which may hold secrets. An error
// names itself by a method ErrorType() string.
func errorType(err error) string {
	if err == nil {
		return ""
	}
	if err == errPanic {
		return "panic"
	}
	type named interface {
		error
		ErrorType() string
	}
	if named, ok := errors.AsType[named](err); ok {
		return named.ErrorType()
	}
	type timeout interface {
		error
		Timeout() bool
	}
	if timeout, ok := errors.AsType[timeout](err); ok && timeout.Timeout() {
		return "timeout"
	}
	for {
		name := reflect.TypeOf(err).String()
		inner := errors.Unwrap(err)
		if inner == nil || name != "*fmt.wrapError" && name != "*breaker.ignoredError" {
			return name
		}
		err = inner
	}
}
