package breaker

import (
	"math"
	"time"
)

// window counts the calls of a Window. The breaker's lock guards it.
type window struct {
	sum tally // of all that is in the window

	// A count window is a ring of the last calls.
	calls []flags
	next  int

	// A time window is a ring of buckets; current numbers the newest by the
	// clock, in bucket widths.
	buckets []tally
	width   time.Duration
	current int64

	minimum        int64
	failures, slow uint64 // thresholds in millionths; 0 is off
}

type tally struct{ calls, failures, slow int64 }

type flags uint8

const (
	counted flags = 1 << iota
	failed
	slow
)

func newWindow(w Window) *window {
	if !w.enabled() {
		return nil
	}
	n := &window{
		minimum:  int64(w.MinimumCalls),
		failures: millionths(w.FailureRate),
		slow:     millionths(w.SlowCallRate),
	}
	if w.Calls > 0 {
		n.calls = make([]flags, w.Calls)
	} else {
		n.buckets = make([]tally, w.Buckets)
		n.width = w.Width / time.Duration(w.Buckets)
	}
	return n
}

// millionths makes a rate an integer, so that 57 of 100 is 57 %, which
// 0.57·100 in floating point is not.
func millionths(percent float64) uint64 { return uint64(math.Round(percent * 10_000)) }

func (w *window) clear() {
	clear(w.calls)
	clear(w.buckets)
	w.sum = tally{}
}

// spotless reports that no call in the window at now speaks against the
// endpoint.
func (w *window) spotless(now time.Duration) bool {
	if w.buckets != nil {
		w.advance(now)
	}
	return w.sum.failures == 0 && w.sum.slow == 0
}

func (w *window) record(now time.Duration, r result) {
	f := counted
	if r.outcome == Failure {
		f |= failed
	}
	if r.slow {
		f |= slow
	}
	w.sum.add(f, 1)
	if w.calls != nil {
		w.sum.add(w.calls[w.next], -1)
		w.calls[w.next] = f
		w.next++
		if w.next == len(w.calls) {
			w.next = 0
		}
		return
	}
	w.advance(now)
	w.buckets[w.current%int64(len(w.buckets))].add(f, 1)
}

// advance drops the buckets that have left the window at now. A clock that
// went back changes nothing: the newest bucket goes on counting.
func (w *window) advance(now time.Duration) {
	number := int64(now / w.width)
	for i := int64(0); w.current < number && i < int64(len(w.buckets)); i++ {
		w.current = max(w.current+1, number-int64(len(w.buckets))+1)
		b := &w.buckets[w.current%int64(len(w.buckets))]
		w.sum.calls -= b.calls
		w.sum.failures -= b.failures
		w.sum.slow -= b.slow
		*b = tally{}
	}
}

func (t *tally) add(f flags, n int64) {
	if f&counted != 0 {
		t.calls += n
	}
	if f&failed != 0 {
		t.failures += n
	}
	if f&slow != 0 {
		t.slow += n
	}
}

// exceeded says which rate is reached, or "".
func (w *window) exceeded() Cause {
	switch {
	case w.sum.calls < w.minimum:
		return ""
	case reached(w.sum.failures, w.sum.calls, w.failures):
		return CauseFailureRate
	case reached(w.sum.slow, w.sum.calls, w.slow):
		return CauseSlowCallRate
	}
	return ""
}

func reached(part, calls int64, threshold uint64) bool {
	return threshold != 0 && uint64(part)*1_000_000 >= threshold*uint64(calls)
}
