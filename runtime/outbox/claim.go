package outbox

import (
	"context"
	"slices"
	"time"
)

const (
	claimBackoffMin = 100 * time.Millisecond
	claimBackoffMax = 5 * time.Second
)

// claimer is the loop that claims for all lanes; one goroutine owns it.
type claimer struct {
	d       *Dispatcher
	byName  map[string]*lane
	signals <-chan struct{}
	timer   *time.Timer
	polled  time.Time
	turn    int // index of the lane whose want comes first

	// Of the claim being made; reused.
	wants []Want
	lanes []*lane
	// suspect is the index in wants of the one that asks for a suspect, or -1.
	suspect int
}

// claimUntil claims until ctx ends.
func (d *Dispatcher) claimUntil(ctx context.Context, signals <-chan struct{}) {
	c := &claimer{d: d, byName: make(map[string]*lane, len(d.lanes)), signals: signals, timer: time.NewTimer(0), polled: time.Now()}
	defer c.timer.Stop()
	for _, l := range d.lanes {
		c.byName[l.dest.Name] = l
	}
	backoff := time.Duration(0)
	for ctx.Err() == nil {
		now := time.Now()
		c.listen(now)
		next := c.collect(now)
		if len(c.wants) == 0 {
			c.wait(ctx, next)
			continue
		}
		claimed, err := d.store.Claim(ctx, ClaimRequest{Wants: c.wants, CrashLimit: d.cfg.CrashLimit})
		if err != nil {
			c.undo()
			if ctx.Err() != nil {
				return
			}
			backoff = min(max(claimBackoffMin, 2*backoff), claimBackoffMax)
			d.log.Error("claim failed: nothing of it was sent", "error", err, "backoff_seconds", backoff.Seconds())
			c.pause(ctx, backoff)
			continue
		}
		backoff = 0
		d.claims.Add(1)
		c.distribute(claimed, now)
	}
}

// listen takes the signals that came during the last claim: a lane that is
// always busy must not keep the others from being asked.
func (c *claimer) listen(now time.Time) {
	select {
	case _, open := <-c.signals:
		c.signalled(open)
	default:
	}
	if now.Sub(c.polled) >= c.d.cfg.PollInterval {
		c.polled = now
		for _, l := range c.d.lanes {
			l.poll()
		}
	}
}

func (c *claimer) signalled(open bool) {
	if !open {
		c.signals = nil // the watch has ended; the slow poll remains
		return
	}
	for _, l := range c.d.lanes {
		l.signal()
	}
}

// wait returns when a lane may have something to ask: at next (the zero Time:
// never) or at the slow poll, on a signal of the store, or on a poke.
func (c *claimer) wait(ctx context.Context, next time.Time) {
	at := c.polled.Add(c.d.cfg.PollInterval)
	if !next.IsZero() && next.Before(at) {
		at = next
	}
	c.timer.Reset(time.Until(at))
	select {
	case <-ctx.Done():
	case <-c.timer.C:
	case <-c.d.poke:
	case _, open := <-c.signals:
		c.signalled(open)
	}
}

// pause waits without listening.
func (c *claimer) pause(ctx context.Context, for_ time.Duration) {
	c.timer.Reset(for_)
	select {
	case <-ctx.Done():
	case <-c.timer.C:
	}
}

// collect asks every lane what it wants, beginning with another one each
// time, and answers when to ask again if nobody wants anything.
func (c *claimer) collect(now time.Time) (next time.Time) {
	c.wants, c.lanes, c.suspect = c.wants[:0], c.lanes[:0], -1
	if c.d.settler.failing.Load() {
		return time.Time{}
	}
	n := len(c.d.lanes)
	for i := range n {
		l := c.d.lanes[(c.turn+i)%n]
		w, again := l.want(now)
		if w.Room > 0 {
			c.wants, c.lanes = append(c.wants, w), append(c.lanes, l)
		}
		if !again.IsZero() && (next.IsZero() || again.Before(next)) {
			next = again
		}
	}
	c.collectSuspect(now)
	if len(c.wants) > 0 {
		c.turn = (c.turn + 1) % n
	}
	return next
}

// collectSuspect lets one lane ask for a suspect if the process holds none.
func (c *claimer) collectSuspect(now time.Time) {
	if c.d.settler.behind() {
		return
	}
	l, room := c.d.suspects.offer(c.d.lanes, now)
	if l == nil {
		return
	}
	c.suspect = slices.Index(c.lanes, l)
	if c.suspect < 0 {
		c.suspect = len(c.wants)
		c.wants, c.lanes = append(c.wants, l.emptyWant()), append(c.lanes, l)
	}
	w := &c.wants[c.suspect]
	w.Suspect = true
	w.Room = min(w.Room, room-1) // the suspect's own attempt needs a permit too
}

// undo makes the lanes ask again after a claim that failed.
func (c *claimer) undo() {
	for _, l := range c.lanes {
		l.signal()
	}
	c.d.suspects.missed()
}

func (c *claimer) distribute(claimed Claim, claimedAt time.Time) {
	d := c.d
	for _, delivery := range claimed.Deliveries {
		l := c.byName[delivery.Destination]
		if l == nil {
			d.log.Error("the store claimed for a destination that was not asked for: its lease will expire", "destination", delivery.Destination, "event_id", delivery.ID)
			continue
		}
		l.incoming = append(l.incoming, delivery)
	}
	for _, dead := range claimed.Quarantined {
		if l := c.byName[dead.Destination]; l != nil {
			l.count.dead.Add(1)
		}
		d.logQuarantined(dead)
	}
	for i, l := range c.lanes {
		var state ClaimState
		if i < len(claimed.States) {
			state = claimed.States[i]
		}
		gotSuspect := l.accept(c.wants[i], state, claimedAt)
		if i == c.suspect && !gotSuspect {
			d.suspects.missed()
		}
	}
}
