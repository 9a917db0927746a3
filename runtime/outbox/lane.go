package outbox

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// run is what one worker takes at a time: the deliveries of one ordering key
// that were claimed together, in order, or one delivery without a key.
type run struct {
	members []*Delivery // not yet answered; the first is next or under way
	// leaseEnd is when the members' leases end by this process's clock, on the
	// careful side: counted from before the claim.
	leaseEnd time.Time
	since    time.Time // claimed at
	suspect  bool
	lost     bool // a renewal found a member's lease lost
}

// lane is one destination in this process: its buffer, its workers, and what
// the claim loop must know. Nothing in it waits for another destination.
//
// No method calls the store, a sender or a breaker with mu held.
type lane struct {
	d     *Dispatcher
	dest  Destination
	lease time.Duration // of a claim
	count counters

	mu        sync.Mutex
	available sync.Cond // signalled for an idle worker
	closed    bool

	queue    runQueue
	buffered int // deliveries in queue
	// depth is how many deliveries may wait ahead of the workers; see depth.go.
	depth    int
	lastFull time.Time

	crew     []*worker // every worker that is running
	idle     int       // workers that wait and have not been signalled
	inFlight int       // workers that have a run
	// starting counts runs that were taken and have no permit yet.
	starting atomic.Int32
	// unrecorded counts settlements on their way to the store.
	unrecorded int
	// hungry is set when the claim loop wanted more but had no room: it is to
	// be poked when that may have changed.
	hungry bool
	// gatedUntil, while set: the breaker told a worker to come back.
	gatedUntil time.Time
	// reserved keeps one slot for a suspect.
	reserved bool

	// What the store said.
	ask            bool      // something may be claimable
	due            time.Time // of the earliest delivery not yet due; zero: none
	suspectWaiting bool
	disabled       bool
	pausedUntil    time.Time // by the store
	recheck        bool      // the slow poll: look whether pause or disablement were lifted

	// Faults of our own.
	faults     int // in a row
	faultUntil time.Time

	trips   trips
	unknown reportedTypes

	incoming []*Delivery // the claim loop's scratch
}

func newLane(d *Dispatcher, dest Destination) *lane {
	l := &lane{d: d, dest: dest, lease: d.cfg.Lease, ask: true}
	if l.lease == 0 {
		l.lease = dest.Timeout + DefaultLeaseMargin
	}
	l.available.L = &l.mu
	return l
}

// maxUnrecorded stops claiming while the store does not take outcomes.
func (l *lane) maxUnrecorded() int { return 4*l.d.cfg.Batch + l.dest.MaxInFlight }

// permits is how many attempts the breaker would let start now, and when to
// ask again if none. It may cost a call of the network: mu is not held.
func (l *lane) permits() (room int, retryIn time.Duration) {
	if l.dest.Breaker == nil {
		return math.MaxInt, 0
	}
	room = l.dest.Breaker.Room()
	if room <= 0 {
		retryIn = l.dest.Breaker.RetryIn()
	}
	return room, retryIn
}

// signal: events may have become claimable.
func (l *lane) signal() {
	l.mu.Lock()
	l.ask = true
	l.mu.Unlock()
}

// poll is signal, and looks behind a pause or disablement too.
func (l *lane) poll() {
	l.mu.Lock()
	l.ask, l.recheck = true, true
	l.mu.Unlock()
}

// held reports that the destination is paused or disabled; mu is held.
func (l *lane) held(now time.Time) bool {
	return now.Before(l.faultUntil) || !l.recheck && (l.disabled || now.Before(l.pausedUntil))
}

func (l *lane) emptyWant() Want {
	return Want{Destination: l.dest.Name, Lease: l.lease, MaxAge: l.dest.MaxAge}
}

// want is what the lane asks of the next claim; Room 0: nothing, and again is
// when to ask next unless something happens (zero: never).
func (l *lane) want(now time.Time) (w Want, again time.Time) {
	w = l.emptyWant()
	permits, retryIn := l.permits()
	probing := l.dest.Breaker != nil && l.dest.Breaker.State() != breaker.Closed
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return w, time.Time{}
	}
	if l.openGate(now) {
		again = l.gatedUntil
	}
	switch {
	case now.Before(l.faultUntil):
		return w, earlier(again, l.faultUntil)
	case l.disabled && !l.recheck:
		return w, again
	case now.Before(l.pausedUntil) && !l.recheck:
		return w, earlier(again, l.pausedUntil)
	case !l.ask && (l.due.IsZero() || now.Before(l.due)):
		return w, earlier(again, l.due)
	}
	w.Room = l.room()
	if free := permits - l.buffered - int(l.starting.Load()); free < w.Room {
		w.Room = max(free, 0)
		if w.Room == 0 && retryIn > 0 {
			again = earlier(again, now.Add(retryIn))
		}
	}
	if w.Room == 0 {
		l.hungry = true
		return w, again
	}
	w.FewestRetriesFirst = probing
	l.hungry, l.ask, l.recheck, l.due = false, false, false, time.Time{}
	return w, again
}

// room is how many deliveries buffer and workers have place for; it waits
// until half the buffer is used up, because every claim costs a sync.
func (l *lane) room() int {
	if l.buffered > l.depth/2 || l.unrecorded >= l.maxUnrecorded() {
		return 0
	}
	free := l.dest.MaxInFlight - l.inFlight
	if l.reserved {
		free--
	}
	return min(l.d.cfg.Batch, l.depth+max(free, 0)-l.buffered)
}

// earlier is the earlier of two times of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// accept takes a claim's answer to w: the deliveries in l.incoming.
func (l *lane) accept(w Want, state ClaimState, claimedAt time.Time) (gotSuspect bool) {
	runs := groupRuns(l.incoming, claimedAt, claimedAt.Add(l.lease))
	ordinary := len(l.incoming)
	for _, r := range runs {
		if r.suspect {
			gotSuspect = true
			ordinary -= len(r.members)
		}
	}
	l.count.claimed.Add(int64(len(l.incoming)))
	clear(l.incoming)
	l.incoming = l.incoming[:0]

	l.mu.Lock()
	defer l.mu.Unlock()
	l.disabled = state.Disabled != ""
	l.pausedUntil = time.Time{}
	if state.PausedFor > 0 {
		l.pausedUntil = claimedAt.Add(state.PausedFor)
	}
	l.suspectWaiting = state.SuspectWaiting
	if w.Suspect {
		l.reserved = gotSuspect
	} else if !l.suspectWaiting {
		l.reserved = false
	}
	full := w.Room > 0 && ordinary >= w.Room
	switch {
	case full || w.Room == 0:
		l.ask = true
	case state.NextDue > 0:
		l.due = earlier(l.due, claimedAt.Add(state.NextDue))
	case state.NextDue == 0 && !l.disabled && l.pausedUntil.IsZero():
		l.due = earlier(l.due, claimedAt.Add(soonest))
	}
	if full {
		l.deepen(claimedAt)
	}
	for _, r := range runs {
		if r.suspect {
			if l.adopt(r) {
				continue
			}
			l.queue.pushFront(r)
		} else {
			l.queue.pushBack(r)
		}
		l.buffered += len(r.members)
	}
	l.count.buffered.Store(int64(l.buffered))
	if l.closed {
		l.giveBackBuffer()
		return gotSuspect
	}
	l.rouse()
	return gotSuspect
}

// soonest keeps a store that says "more is due" and yields nothing from being
// asked in a hot loop.
const soonest = 20 * time.Millisecond

// groupRuns makes runs of a claim's deliveries to one destination.
func groupRuns(ds []*Delivery, since, leaseEnd time.Time) []*run {
	if len(ds) == 0 {
		return nil
	}
	slab := make([]run, 0, len(ds))
	members := append([]*Delivery(nil), ds...)
	runs := make([]*run, 0, len(ds))
	var byKey map[string]*run
	for i, d := range members {
		if d.OrderingKey != "" && !d.Suspect {
			if r := byKey[d.OrderingKey]; r != nil {
				r.members = append(r.members, d)
				continue
			}
		}
		slab = append(slab, run{members: members[i : i+1 : i+1], since: since, leaseEnd: leaseEnd, suspect: d.Suspect})
		r := &slab[len(slab)-1]
		runs = append(runs, r)
		if d.OrderingKey != "" && !d.Suspect {
			if byKey == nil {
				byKey = make(map[string]*run)
			}
			byKey[d.OrderingKey] = r
		}
	}
	return runs
}

// rouse gets one more worker going if there is something it could start; mu
// is held. A worker that takes a run rouses the next.
func (l *lane) rouse() {
	if l.startable() == nil {
		return
	}
	switch {
	case l.idle > 0:
		l.idle--
		l.available.Signal()
	case len(l.crew) < l.dest.MaxInFlight:
		l.hire()
	}
}

// hire starts a worker; mu is held.
func (l *lane) hire() {
	w := &worker{lane: l}
	w.renewContext()
	l.crew = append(l.crew, w)
	l.d.workers.Go(w.work)
}

// startable is the run that may be started now, or nil; mu is held.
func (l *lane) startable() *run {
	r := l.queue.front()
	if r == nil || l.closed || !l.gatedUntil.IsZero() {
		return nil
	}
	if !r.suspect && l.reserved && l.inFlight+1 >= l.dest.MaxInFlight {
		return nil
	}
	return r
}

// gate keeps workers from asking the breaker again for a while; mu is held.
func (l *lane) gate(now time.Time, retryIn time.Duration) {
	const soonest, latest = 5 * time.Millisecond, time.Second
	l.gatedUntil = now.Add(min(max(retryIn, soonest), latest))
	l.d.pokeClaimer() // its timer opens the gate
}

// openGate opens a gate whose time is over and reports whether one is closed;
// mu is held.
func (l *lane) openGate(now time.Time) (closed bool) {
	if l.gatedUntil.IsZero() {
		return false
	}
	if now.Before(l.gatedUntil) {
		return true
	}
	l.gatedUntil = time.Time{}
	l.rouse()
	return false
}

// fed pokes the claim loop if it waits for room; mu is held.
func (l *lane) fed() {
	if l.hungry && l.buffered <= l.depth/2 || l.reserved {
		l.d.pokeClaimer()
	}
}

// giveBackBuffer gives back what has not been started; mu is held.
func (l *lane) giveBackBuffer() {
	for r := l.queue.popFront(); r != nil; r = l.queue.popFront() {
		l.giveBack(r, 0)
	}
	l.buffered = 0
	l.count.buffered.Store(0)
	l.ask = true
}

// giveBack ends the leases of all members of r in one transaction, the first
// one due again after delay; mu is held.
func (l *lane) giveBack(r *run, delay time.Duration) {
	if len(r.members) == 0 {
		return
	}
	entries := make([]entry, 0, len(r.members))
	l.recordLocked(l.appendGivenBack(entries, r, r.members, delay))
}

func (l *lane) appendGivenBack(entries []entry, r *run, members []*Delivery, delay time.Duration) []entry {
	for i, d := range members {
		e := l.newEntry(d, r, Settlement{Lease: d.Lease, Verdict: GiveBack})
		if i == 0 {
			e.Delay = delay
		}
		e.joined = i+1 < len(members)
		entries = append(entries, e)
	}
	return entries
}

// recordLocked hands one transaction's settlements to the settler; mu is held.
func (l *lane) recordLocked(entries []entry) {
	l.unrecorded += len(entries)
	l.d.settler.add(entries...)
}

// recorded: the settler has written n settlements of this lane, and something
// may be claimable at next (zero: nothing more than before).
func (l *lane) recorded(n int, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wasStuck := l.hungry && l.unrecorded >= l.maxUnrecorded()
	l.unrecorded -= n
	sooner := !next.IsZero() && !l.ask && (l.due.IsZero() || next.Before(l.due))
	if sooner {
		l.due = next
	}
	if wasStuck || sooner {
		l.d.pokeClaimer()
	}
}

// close stops the workers after their present attempt and gives back the rest.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.giveBackBuffer()
	l.idle = 0
	l.available.Broadcast()
}

// workerContext is the parent of a worker's attempts.
func (d *Dispatcher) workerContext() (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(d.attempts)
}
