package outbox

import "time"

// maxTripPause bounds the pause that outlives this process when a breaker opens.
const maxTripPause = time.Minute

// trips remembers the pause that was stored when the breaker left CLOSED: a
// process that starts anew has a closed breaker, and without the pause it
// would test a dead endpoint with FailureThreshold attempts. The settler owns it.
type trips struct{ pausedUntil time.Time }

// tripPause is the pause to store now; 0: none. It ends a tenth before the
// breaker admits a probe, so that it never delays one, and is worked out when
// it is written, so that a slow store does not move it.
func (l *lane) tripPause(now time.Time) time.Duration {
	if l.dest.Breaker == nil {
		return 0
	}
	pause := min(l.dest.Breaker.RetryIn()*9/10, maxTripPause)
	if pause < time.Second || !now.Add(pause).After(l.trips.pausedUntil.Add(time.Second)) {
		return 0
	}
	l.trips.pausedUntil = now.Add(pause)
	return pause
}
