package breaker

import "time"

// Transition is a change of state.
type Transition struct {
	Name     string
	From, To State
	Cause    Cause
	// Generation numbers the times between two transitions, from 1. It rises
	// by more than one where Reset or another operation did not change the
	// state.
	Generation uint64
	At         time.Time
	// OpenFor is the recovery time; 0 unless To is Open, and when forced.
	OpenFor time.Duration
}

// Cause is why a breaker changed its state.
type Cause string

const (
	CauseFailures     Cause = "failures"       // FailureThreshold failures in a row
	CauseFailureRate  Cause = "failure_rate"   // of the window
	CauseSlowCallRate Cause = "slow_call_rate" // of the window
	CauseRecoveryTime Cause = "recovery_time"  // it is over
	CauseProbes       Cause = "probes"         // HalfOpenMaxCalls successes
	CauseProbeFailed  Cause = "probe_failed"   // or was slow
	CauseOpenFor      Cause = "open_for"       // OpenFor was called
	CauseRecovered    Cause = "recovered"      // Recovered was called
	CauseForced       Cause = "forced"         // ForceOpen was called
	CauseDisabled     Cause = "disabled"       // Disable was called
	CauseReset        Cause = "reset"          // Reset was called
)

// newEra makes an era of the next generation; become starts it.
func (b *Breaker) newEra(s State) *era {
	b.generation++
	e := &era{
		state:      s,
		generation: b.generation,
		bounded:    b.s.FailureThreshold > 0,
	}
	e.refusal = OpenError{Name: b.Name(), attempt: b.attempt, s: b.s}
	switch s {
	case Closed:
		e.refusal.Reason = ReasonSuspect
	case HalfOpen:
		e.refusal.Reason = ReasonHalfOpen
	}
	return e
}

func (b *Breaker) openEra(recovery time.Duration) *era {
	e := b.newEra(Open)
	e.refusal.until = saturatingAdd(b.s.now(), recovery)
	return e
}

// become ends the current era and starts e. The lock is held.
func (b *Breaker) become(e *era, cause Cause, r result) *era {
	old := b.era.Load()
	b.era.Store(e)
	old.wake()
	switch e.state {
	case Closed:
		b.closedAt = b.s.now()
		if b.window != nil {
			b.window.clear()
		}
	case Open:
		if old.state != Open {
			b.counts.opened.Add(1)
		}
	}
	b.reportTransition(old, e, cause, r)
	return e
}
