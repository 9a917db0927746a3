package outbox

import (
	"strings"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// maxPause bounds a pause that a destination asks for.
const maxPause = 24 * time.Hour

// maxFailureMessage is the size of a stored Failure.Message in bytes.
const maxFailureMessage = 2 << 10

// complete makes an Outcome whole: a sender may leave out what can be derived.
func (w *worker) complete(out Outcome) Outcome {
	if out.Result < Delivered || out.Result > Cancelled {
		out = Outcome{Result: Failed, Breaker: breaker.Neutral, Failure: &Failure{Cause: CauseInvalid, Message: "the sender's outcome has no result"}}
	}
	if out.Breaker == 0 {
		switch out.Result {
		case Delivered:
			out.Breaker = breaker.Success
		case Failed:
			out.Breaker = breaker.Failure
		default:
			out.Breaker = breaker.Neutral
		}
	}
	if out.Result == Delivered {
		return out
	}
	f := Failure{Cause: CauseInvalid, Message: "the sender gave no reason"}
	if out.Failure != nil {
		f = *out.Failure
	}
	if f.StartedAt.IsZero() {
		f.StartedAt = w.started
	}
	if f.Duration == 0 {
		f.Duration = time.Since(w.started)
	}
	f.Message = storable(f.Message)
	out.Failure = &f
	return out
}

// storable is s as valid UTF-8 of at most maxFailureMessage bytes.
func storable(s string) string {
	if len(s) > maxFailureMessage {
		s = s[:maxFailureMessage]
	}
	s = strings.ToValidUTF8(s, "�")
	for len(s) > maxFailureMessage {
		s = strings.ToValidUTF8(s[:maxFailureMessage], "")
	}
	return s
}

// answerEntry turns an attempt's outcome into its settlement: the table of
// the design's section 8.
func (l *lane) answerEntry(d *Delivery, r *run, out Outcome) entry {
	s := Settlement{Lease: d.Lease, Attempted: true, Failure: out.Failure}
	switch out.Result {
	case Delivered:
		s.Verdict, s.Failure = Deliver, nil
	case Failed:
		s.Spent = true
		s.Verdict, s.Delay = Retry, l.dest.Retry.Backoff(d.Attempt(), l.d.random)
		if d.Attempt() >= l.dest.Retry.MaxAttempts {
			s.Verdict, s.Delay, s.Kind = Quarantine, 0, FailureExhausted
		}
	case Rejected:
		s.Spent = true
		s.Verdict, s.Kind = Quarantine, FailurePermanent
		if out.Failure.Cause == CauseUndecodable {
			s.Kind = FailureUndecodable
		}
	case Paused, Disabled, LocalFault:
		// Due again at once: the pause, not the delivery, has to wait.
		s.Verdict = Retry
	case Unknown:
		s.Verdict, s.Delay, s.Attempted, s.Failure = GiveBack, UnknownDelay, false, nil
	case Cancelled:
		s.Verdict, s.Attempted, s.Failure = GiveBack, false, nil
	}
	return l.newEntry(d, r, s)
}

// effects is what an outcome does to the whole destination; mu is held.
func (l *lane) effects(out Outcome, e *entry) {
	if out.Result != LocalFault && out.Result != Cancelled {
		l.faults = 0
	}
	switch out.Result {
	case Paused:
		pause := min(out.PauseFor, maxPause)
		if pause <= 0 {
			pause = l.dest.Retry.Backoff(1, l.d.random)
		}
		l.pausedUntil = later(l.pausedUntil, time.Now().Add(pause))
		e.before = &DestinationChange{Destination: l.dest.Name, Action: Pause, For: pause, Reason: out.Failure.Message}
		l.giveBackBuffer()
	case Disabled:
		l.disabled = true
		e.before = &DestinationChange{Destination: l.dest.Name, Action: Disable, Reason: out.Failure.Message}
		l.giveBackBuffer()
	case LocalFault:
		pause := faultPause.Backoff(l.faults+1, func() float64 { return 1 })
		l.faults++
		l.faultUntil = time.Now().Add(pause)
		// Others first after the pause: the fault may be this event's alone.
		e.Delay = pause
		e.faults = l.faults
		l.giveBackBuffer()
	}
}

// faultPause spaces attempts at a destination that this process cannot use.
var faultPause = RetryPolicy{MaxAttempts: 1, Base: 5 * time.Second, Cap: 5 * time.Minute}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
