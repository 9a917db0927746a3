package outbox

import "time"

// The buffer ahead of the workers hides the claim's sync from a fast
// destination, and only keeps deliveries from other processes for a slow one.
// So its depth follows the destination: it grows while full claims follow one
// another quickly and find the buffer empty, and shrinks to nothing when
// deliveries wait in it.

const (
	// longWait in the buffer means that more was claimed than the destination takes.
	longWait = time.Second
	// tooLong in the buffer means that the workers do not get on at all: it is
	// given back.
	tooLong = 2 * longWait
	// quick is how soon one full claim must follow another to deepen the buffer.
	quick = 250 * time.Millisecond
)

// maxDepth lets one batch be claimed while another is worked off.
func (l *lane) maxDepth() int { return 2 * l.d.cfg.Batch }

// deepen follows a full claim; mu is held.
func (l *lane) deepen(claimedAt time.Time) {
	if l.buffered == 0 && claimedAt.Sub(l.lastFull) < quick {
		l.depth = min(max(2*l.depth, l.dest.MaxInFlight/2, 1), l.maxDepth())
	}
	l.lastFull = claimedAt
}

// giveBackWaiting gives back runs that have waited for too long, which are the
// first in the queue; mu is held.
func (l *lane) giveBackWaiting(now time.Time) {
	for r := l.queue.front(); r != nil && now.Sub(r.since) > tooLong; r = l.queue.front() {
		l.queue.popFront()
		l.buffered -= len(r.members)
		l.giveBack(r, 0)
		l.depth = 0
	}
	l.count.buffered.Store(int64(l.buffered))
}
