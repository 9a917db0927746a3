package outbox

import (
	"sync/atomic"
	"time"
)

// suspects sees to it that the process holds at most one suspect at a time:
// if a delivery kills its process, only that one delivery's crash count is to
// be raised. The claim loop owns it; held is cleared by the settler.
type suspects struct {
	held atomic.Bool
	turn int // index of the lane that is offered the next suspect first
}

// offer picks the lane that may ask for a suspect now, in turn, and says how
// many permits its breaker has. It answers nil when the process holds one, or
// no lane that has one waiting can start it at once.
func (s *suspects) offer(lanes []*lane, now time.Time) (*lane, int) {
	if s.held.Load() {
		return nil, 0
	}
	var full *lane
	for i := range lanes {
		at := (s.turn + i) % len(lanes)
		l := lanes[at]
		switch room, verdict := l.suspectRoom(now); verdict {
		case suspectStarts:
			s.turn = (at + 1) % len(lanes)
			s.held.Store(true)
			return l, room
		case suspectNeedsSlot:
			if full == nil {
				full = l
			}
		}
	}
	if full != nil {
		full.reserveSlot()
	}
	return nil, 0
}

// missed: the suspect that was asked for did not come.
func (s *suspects) missed() { s.held.Store(false) }

// settled: the suspect that was held is recorded.
func (s *suspects) settled() { s.held.Store(false) }

type suspectVerdict int

const (
	noSuspect suspectVerdict = iota
	suspectNeedsSlot
	suspectStarts
)

// suspectRoom says whether a suspect could start at once, and how many
// permits the breaker has that nothing claimed is waiting for.
func (l *lane) suspectRoom(now time.Time) (int, suspectVerdict) {
	permits, _ := l.permits()
	l.mu.Lock()
	defer l.mu.Unlock()
	permits -= l.buffered + int(l.starting.Load())
	switch {
	case !l.suspectWaiting || l.closed || l.held(now) || permits < 1:
		return 0, noSuspect
	case l.inFlight >= l.dest.MaxInFlight:
		return 0, suspectNeedsSlot
	default:
		l.reserved = true
		l.ask = false
		return permits, suspectStarts
	}
}

// reserveSlot keeps the next slot that becomes free from ordinary deliveries.
func (l *lane) reserveSlot() {
	l.mu.Lock()
	l.reserved = true
	l.mu.Unlock()
}

// adopt reports that the suspect in r is this process's own: its attempt is
// still under way, but its lease could not be renewed in time. The attempt goes
// on under the new lease, instead of being made twice at a time; mu is held.
func (l *lane) adopt(r *run) bool {
	suspect := r.members[0]
	for _, w := range l.crew {
		own := w.run
		if own == nil || w.deadline.IsZero() || own.members[0].Seq != suspect.Seq {
			continue
		}
		own.members[0], own.leaseEnd = suspect, r.leaseEnd
		l.reserved = false
		return true
	}
	return false
}
