package outbox

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	settleBackoffMin = 10 * time.Millisecond
	settleBackoffMax = time.Second
	// settleChunk bounds one settle transaction, so that it does not keep
	// other writers waiting.
	settleChunk = 500
	// settleTries is how often a transaction is tried before it is split, in
	// case one settlement spoils it for the others.
	settleTries = 3
	// settlePatience is how long after its lease's end an outcome that the
	// store refuses is still offered to it, although it takes other writes.
	settlePatience = time.Minute
	// settleProbe is the lease that the write gets which finds out whether it
	// does.
	settleProbe = time.Second
	// complainEvery spaces the log's lines about a store that takes nothing.
	complainEvery = time.Second
)

// entry is a settlement on its way to the store.
type entry struct {
	Settlement
	lane     *lane
	delivery *Delivery
	leaseEnd time.Time
	suspect  bool
	faults   int // with a local fault: how many in a row
	// refused counts how often the store refused it on its own.
	refused int
	// joined: belongs into one transaction with the entry after it.
	joined bool
	// trip: the breaker has opened; its pause is stored ahead.
	trip bool
	// before is stored ahead of the settlement, so that no other process
	// claims in between.
	before *DestinationChange
}

// newEntry makes the settlement of a member of r; lane.mu is held.
func (l *lane) newEntry(d *Delivery, r *run, s Settlement) entry {
	return entry{Settlement: s, lane: l, delivery: d, leaseEnd: r.leaseEnd, suspect: d.Suspect}
}

// settler writes settlements: whatever has gathered while the last
// transaction ran goes into the next one. It is one goroutine, so settlements
// reach the store in the order in which they were added.
type settler struct {
	d *Dispatcher

	mu      sync.Mutex
	work    sync.Cond
	pending []entry
	closed  bool
	giveUp  time.Time // once closed: when to stop trying
	parked  int       // groups that wait to be tried again on their own

	// Of the goroutine:
	spare       []entry
	settlements []Settlement
	perLane     map[*lane]written
	lastSuccess time.Time
	complained  time.Time // when it was last said that the store takes nothing
	unwritten   int       // abandoned at shutdown
	lastError   error

	settles atomic.Int64
	// failing: the store does not take outcomes. Claims wait, so that what has
	// been delivered is recorded before anybody here asks for expired leases.
	failing atomic.Bool
}

func newSettler(d *Dispatcher) *settler {
	s := &settler{d: d, perLane: make(map[*lane]written)}
	s.work.L = &s.mu
	return s
}

// addOne is add without the slice.
func (s *settler) addOne(e entry) {
	s.mu.Lock()
	s.pending = append(s.pending, e)
	s.mu.Unlock()
	s.work.Signal()
}

// add queues the settlements of one transaction.
func (s *settler) add(entries ...entry) {
	s.mu.Lock()
	s.pending = append(s.pending, entries...)
	s.mu.Unlock()
	s.work.Signal()
}

// close makes run return when everything is written, or after patience.
func (s *settler) close(patience time.Duration) {
	s.mu.Lock()
	s.closed = true
	s.giveUp = time.Now().Add(patience)
	s.mu.Unlock()
	s.work.Signal()
}

// unrecorded is the error of a run that could not write everything.
func (s *settler) unrecorded() error {
	if s.unwritten == 0 {
		return nil
	}
	return fmt.Errorf("outbox: dispatcher: %d outcomes could not be recorded before the shutdown timeout, their events will be delivered again when their leases end: %w", s.unwritten, s.lastError)
}

// run writes until close; ctx is one that nobody cancels.
func (s *settler) run(ctx context.Context) {
	for batch := s.next(); batch != nil; batch = s.next() {
		for len(batch) > 0 {
			n := chunk(batch, settleChunk)
			s.record(ctx, batch[:n])
			batch = batch[n:]
		}
	}
}

// next waits for settlements; nil: closed, and all are written.
func (s *settler) next() []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.pending) == 0 {
		if s.closed && s.parked == 0 {
			return nil
		}
		s.work.Wait()
	}
	batch := s.pending
	clear(s.spare)
	s.pending, s.spare = s.spare[:0], batch
	return batch
}

// chunk is the size of the first chunk of entries: at least one group, and
// else as many whole groups as fit in limit. A group that was refused is a
// chunk of its own.
func chunk(entries []entry, limit int) int {
	size := 0
	for i, e := range entries {
		if e.refused > 0 && i == size && size > 0 {
			return size
		}
		if e.joined && i+1 < len(entries) {
			continue
		}
		if i+1 > limit && size > 0 {
			return size
		}
		size = i + 1
		if e.refused > 0 {
			return size
		}
	}
	return size
}

// record writes the entries, in one transaction if the store takes them. A
// store that is busy is tried again for as long as it takes: outcomes are
// fenced, so a late one does no harm, and a lost one repeats a delivery.
func (s *settler) record(ctx context.Context, entries []entry) {
	backoff := settleBackoffMin
	for tries := 1; ; tries++ {
		err := s.write(ctx, entries)
		if err == nil {
			s.succeeded()
			return
		}
		s.lastError = err
		s.failing.Store(true)
		s.complain(err, len(entries), backoff)
		if s.outOfPatience() {
			s.unwritten += len(entries)
			s.abandon(entries)
			return
		}
		if tries >= settleTries || entries[0].refused > 0 {
			half := chunk(entries, len(entries)/2)
			if half == len(entries) {
				s.refuse(ctx, entries)
				return
			}
			s.record(ctx, entries[:half])
			s.record(ctx, entries[half:])
			return
		}
		time.Sleep(backoff)
		backoff = min(2*backoff, settleBackoffMax)
	}
}

func (s *settler) succeeded() {
	s.lastSuccess, s.complained = time.Now(), time.Time{}
	s.recovered()
}

// complain says that the store does not take outcomes. While it takes none
// there is a try for each group that waits, and not a line for each of them.
func (s *settler) complain(err error, deliveries int, backoff time.Duration) {
	now := time.Now()
	if now.Sub(s.complained) < complainEvery {
		return
	}
	s.complained = now
	s.d.log.Error("could not record outcomes: trying again", "error", err, "deliveries", deliveries, "backoff_seconds", backoff.Seconds())
}

// refuse puts aside a group that the store does not take, so that it delays no
// other. When its lease has ended for long, or others got through since, it
// lets go of the group, but only if that alone is what the store refuses: a
// store that takes nothing takes it later, and the event is delivered once.
func (s *settler) refuse(ctx context.Context, group []entry) {
	s.recovered() // it may be these settlements alone
	if end := group[0].leaseEnd; (end.Before(s.lastSuccess) || time.Since(end) > settlePatience) && s.writable(ctx, group[0].Lease) {
		// Whatever kept the store from writing may have ended just now.
		if s.write(ctx, group) == nil {
			s.succeeded()
			return
		}
		s.abandon(group)
		return
	}
	group = append([]entry(nil), group...)
	for i := range group {
		group[i].refused++
	}
	backoff := backoffLimit(settleBackoffMin, settleBackoffMax, group[0].refused)
	s.mu.Lock()
	s.parked++
	s.mu.Unlock()
	time.AfterFunc(backoff, func() {
		s.mu.Lock()
		s.parked--
		s.pending = append(s.pending, group...)
		s.mu.Unlock()
		s.work.Signal()
	})
}

// writable reports that the store takes another write than a settlement.
func (s *settler) writable(ctx context.Context, lease Lease) bool {
	_, err := s.d.store.Renew(ctx, []Lease{lease}, settleProbe)
	return err == nil
}

// recovered lets claims go on.
func (s *settler) recovered() {
	if s.failing.Load() {
		s.failing.Store(false)
		s.d.pokeClaimer()
	}
}

// behind reports that outcomes wait which the store did not take: their leases
// may have ended, and must not be taken for another process's.
func (s *settler) behind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parked > 0 || s.failing.Load()
}

func (s *settler) outOfPatience() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed && time.Now().After(s.giveUp)
}

// abandon leaves the deliveries to the end of their leases.
func (s *settler) abandon(entries []entry) {
	for _, e := range entries {
		s.d.logDelivery(e.delivery).Error("outcome could not be recorded: the event will be delivered again when its lease ends", "error", s.lastError)
	}
	s.account(entries)
}

// write is one try.
func (s *settler) write(ctx context.Context, entries []entry) error {
	if err := s.writeChanges(ctx, entries); err != nil {
		return err
	}
	s.settlements = s.settlements[:0]
	for i := range entries {
		s.settlements = append(s.settlements, entries[i].Settlement)
	}
	lost, err := s.d.store.Settle(ctx, s.settlements)
	clear(s.settlements)
	if err != nil {
		return err
	}
	s.settles.Add(1)
	for i := range entries {
		s.count(ctx, &entries[i], i < len(lost) && lost[i])
	}
	s.account(entries)
	return nil
}

// writeChanges stores the pauses and disablements that must precede entries.
func (s *settler) writeChanges(ctx context.Context, entries []entry) error {
	for i := range entries {
		e := &entries[i]
		if e.before != nil {
			if err := s.d.store.SetDestination(ctx, *e.before); err != nil {
				return err
			}
			s.d.logChange(*e.before)
			e.before = nil
		}
		if !e.trip {
			continue
		}
		e.trip = false
		if pause := e.lane.tripPause(time.Now()); pause > 0 {
			change := DestinationChange{Destination: e.lane.dest.Name, Action: Pause, For: pause, Reason: "circuit breaker is open"}
			if err := s.d.store.SetDestination(ctx, change); err != nil {
				// Only a restart would miss it.
				s.d.log.Warn("could not store the pause of an open breaker", "destination", e.lane.dest.Name, "error", err)
				continue
			}
			s.d.logChange(change)
		}
	}
	return nil
}

// count books one settlement that is in the store, or lost.
func (s *settler) count(ctx context.Context, e *entry, lost bool) {
	c := &e.lane.count
	if lost {
		c.lost.Add(1)
		s.d.logLost(e)
		return
	}
	if e.Spent {
		c.failed.Add(1)
	}
	switch {
	case e.Verdict == Deliver:
		c.delivered.Add(1)
	case e.Verdict == Quarantine:
		c.dead.Add(1)
	case !e.Spent:
		c.givenBack.Add(1)
	}
	s.d.logSettled(ctx, e)
}

// written is what one transaction held for a lane.
type written struct {
	entries int
	next    time.Time // when something of it is claimable; zero: nothing
}

// account tells lanes and suspects that entries need no more waiting for.
func (s *settler) account(entries []entry) {
	now := time.Now()
	for i := range entries {
		e := &entries[i]
		w := s.perLane[e.lane]
		w.entries++
		switch {
		case e.Verdict == Retry || e.Verdict == GiveBack:
			w.next = earlier(w.next, now.Add(e.Delay))
		case e.delivery.OrderingKey != "":
			w.next = earlier(w.next, now) // its key's turn has passed
		}
		s.perLane[e.lane] = w
		if e.suspect {
			s.d.suspects.settled()
			s.d.pokeClaimer()
		}
	}
	for l, w := range s.perLane {
		l.recorded(w.entries, w.next)
	}
	clear(s.perLane)
}
