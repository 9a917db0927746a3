package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// model is a store in memory, written for plainness: what a claim may answer,
// what a settle must, and where the turn of a key is.
type model struct {
	now        time.Time
	inserted   int
	deliveries []*modelDelivery // by seq
	turns      map[modelKey]*modelDelivery
	marks      map[string]*modelMarks
}

type modelKey struct{ destination, key string }

type modelDelivery struct {
	id          uuid.UUID
	seq         int64 // 0 until the store has told it
	order       int   // of insert
	destination string
	key         string
	hold        bool

	status        outbox.Status
	discarded     bool
	retries       int
	crashes       int
	replays       int
	suspect       bool
	due           time.Time // while PROCESSING the lease's end
	token         int64     // of the lease; 0: none
	suspectLease  bool
	createdAt     time.Time // of the event
	waitingSince  time.Time
	updatedAt     time.Time
	deadSince     time.Time
	deadLetterSeq int // of quarantine
}

type modelMarks struct {
	pausedUntil time.Time
	disabled    bool
}

func (m *model) line(k modelKey) []*modelDelivery {
	var line []*modelDelivery
	for _, d := range m.deliveries {
		if d.destination == k.destination && d.key == k.key && d.inLine() {
			line = append(line, d)
		}
	}
	return line
}

func (d *modelDelivery) open() bool {
	return d.status == outbox.Pending || d.status == outbox.Processing
}

func (d *modelDelivery) inLine() bool {
	return d.key != "" && (d.open() || d.status == outbox.DeadLetter && d.hold && !d.discarded)
}

func (d *modelDelivery) at() modelKey { return modelKey{d.destination, d.key} }

// ready reports whether it has the turn.
func (m *model) ready(d *modelDelivery) bool {
	return d.open() && (d.key == "" || m.turns[d.at()] == d)
}

func (m *model) insert(d *modelDelivery) {
	if d.key != "" && len(m.line(d.at())) == 0 {
		m.turns[d.at()] = d
	}
	m.inserted++
	d.order = m.inserted
	d.status = outbox.Pending
	d.due, d.createdAt, d.waitingSince, d.updatedAt = m.now, m.now, m.now, m.now
	m.deliveries = append(m.deliveries, d)
}

// pass moves the turn on from a delivery that was settled or given back.
func (m *model) pass(d *modelDelivery, token int64) {
	if d.key == "" || m.turns[d.at()] != d {
		return
	}
	delete(m.turns, d.at())
	line := m.line(d.at())
	for _, next := range line {
		if next != d && next.status == outbox.Processing && next.token == token {
			m.turns[d.at()] = next
			return
		}
	}
	if len(line) > 0 && line[0].open() {
		m.turns[d.at()] = line[0]
	}
}

// arrange moves the turn to the earliest, unless it is leased.
func (m *model) arrange(k modelKey) {
	if holder := m.turns[k]; holder != nil && holder.status == outbox.Processing && holder.at() == k {
		return
	}
	delete(m.turns, k)
	if line := m.line(k); len(line) > 0 && line[0].open() {
		m.turns[k] = line[0]
	}
}

// giveBackRun gives back what follows d in its run.
func (m *model) giveBackRun(d *modelDelivery, token int64) {
	if d.key == "" || token == 0 {
		return
	}
	for _, r := range m.line(d.at()) {
		if r.order > d.order && r.status == outbox.Processing && r.token == token && m.turns[r.at()] != r {
			m.release(r, r.suspectLease || !r.due.After(m.now))
		}
	}
}

func (m *model) release(r *modelDelivery, suspect bool) {
	r.status, r.token, r.suspect, r.suspectLease = outbox.Pending, 0, suspect, false
	r.due, r.updatedAt = earlierOf(r.waitingSince, m.now), m.now
}

func earlierOf(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (m *model) dead(d *modelDelivery, spent bool, number int) {
	token := d.token
	if spent {
		d.retries++
	}
	d.status, d.token, d.suspect, d.suspectLease, d.crashes = outbox.DeadLetter, 0, false, false, 0
	d.updatedAt, d.deadSince, d.deadLetterSeq = m.now, m.now, number
	if d.hold {
		m.giveBackRun(d, token)
	}
	m.pass(d, token)
}

func (m *model) expired(d *modelDelivery, maxAge time.Duration) bool {
	return maxAge > 0 && m.now.Sub(d.waitingSince) >= maxAge
}

// ordinaryDue are those that an ordinary claim may take as heads.
func (m *model) ordinaryDue(destination string) []*modelDelivery {
	return m.due(destination, false)
}

func (m *model) suspectsDue(destination string) []*modelDelivery {
	return m.due(destination, true)
}

func (m *model) due(destination string, suspect bool) []*modelDelivery {
	var due []*modelDelivery
	for _, d := range m.deliveries {
		if d.destination == destination && m.ready(d) && d.suspect == suspect && !d.due.After(m.now) {
			due = append(due, d)
		}
	}
	slices.SortStableFunc(due, func(a, b *modelDelivery) int { return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.order, b.order)) })
	return due
}

// inFlightBehind is when the last live lease of d's key, but for d's own, ends.
func (m *model) inFlightBehind(d *modelDelivery) (time.Time, bool) {
	var end time.Time
	if d.key == "" {
		return end, false
	}
	for _, r := range m.line(d.at()) {
		if r != d && r.status == outbox.Processing && r.due.After(m.now) && r.due.After(end) {
			end = r.due
		}
	}
	return end, !end.IsZero()
}

func (m *model) leaseOrdinary(d *modelDelivery, token int64, end time.Time) {
	d.status, d.token, d.due, d.suspect, d.suspectLease, d.updatedAt = outbox.Processing, token, end, true, false, m.now
}

// overtaken reports whether others have come into line before d.
func (m *model) overtaken(d *modelDelivery) bool {
	return d.key != "" && m.line(d.at())[0] != d
}

// yield gives the turn of a suspect whose lease has ended to the earliest.
func (m *model) yield(d *modelDelivery) {
	for _, r := range m.line(d.at()) {
		if r.status == outbox.Processing {
			m.release(r, true)
		}
	}
	if d.status == outbox.Pending {
		d.due = earlierOf(d.waitingSince, m.now)
	}
	delete(m.turns, d.at())
	m.arrange(d.at())
}

func (m *model) leaseSuspect(d *modelDelivery, token int64, end time.Time) {
	if d.key != "" {
		for _, r := range m.line(d.at()) {
			if r != d && r.status == outbox.Processing {
				m.release(r, true)
			}
		}
	}
	d.status, d.token, d.due, d.suspect, d.suspectLease, d.updatedAt = outbox.Processing, token, end, true, true, m.now
	d.crashes++
}

// settle applies one settlement and reports whether it was lost. returned are
// the leases that the same call has given back.
func (m *model) settle(d *modelDelivery, st outbox.Settlement, returned map[outbox.Lease]bool, number func() int) (lost bool) {
	if d == nil || d.status != outbox.Processing || d.token != st.Lease.Token {
		return st.Verdict != outbox.GiveBack || !returned[st.Lease]
	}
	token := d.token
	before := m.leases(d.at())
	switch st.Verdict {
	case outbox.Deliver:
		d.status, d.token, d.suspect, d.suspectLease, d.crashes = outbox.Published, 0, false, false, 0
		m.pass(d, token)
	case outbox.Retry:
		d.status, d.token, d.suspect, d.suspectLease, d.crashes = outbox.Pending, 0, false, false, 0
		d.due = m.now.Add(st.Delay)
		if st.Spent {
			d.retries++
		}
		m.giveBackRun(d, token)
		m.pass(d, token)
	case outbox.GiveBack:
		if d.suspectLease {
			d.crashes--
		}
		d.status, d.token, d.suspect, d.suspectLease = outbox.Pending, 0, d.suspectLease, false
		d.due = earlierOf(d.waitingSince, m.now)
		if st.Delay > 0 {
			d.due = m.now.Add(st.Delay)
		}
		m.giveBackRun(d, token)
		m.pass(d, token)
	case outbox.Quarantine:
		m.dead(d, st.Spent, number())
	}
	d.updatedAt = m.now
	for l, r := range before {
		if r != d && r.status != outbox.Processing {
			returned[l] = true
		}
	}
	return false
}

// leases are the leases in a key's line.
func (m *model) leases(k modelKey) map[outbox.Lease]*modelDelivery {
	held := make(map[outbox.Lease]*modelDelivery)
	if k.key == "" {
		return held
	}
	for _, r := range m.line(k) {
		if r.status == outbox.Processing {
			held[outbox.Lease{Seq: r.seq, Destination: r.destination, Token: r.token}] = r
		}
	}
	return held
}

func (m *model) replay(d *modelDelivery) {
	d.status, d.retries, d.crashes, d.deadLetterSeq = outbox.Pending, 0, 0, 0
	d.replays++
	d.due, d.waitingSince, d.updatedAt = m.now, m.now, m.now
	if d.key != "" {
		m.arrange(d.at())
	}
}

func (m *model) discard(d *modelDelivery) {
	d.discarded, d.updatedAt = true, m.now
	if d.key != "" {
		m.arrange(d.at())
	}
}

func (m *model) move(d *modelDelivery, to string) {
	from := d.at()
	if m.turns[from] == d {
		delete(m.turns, from)
	}
	d.destination, d.updatedAt = to, m.now
	if d.status == outbox.Processing {
		d.status, d.token, d.suspectLease = outbox.Pending, 0, false
	}
	if d.key != "" {
		m.arrange(from)
		m.arrange(d.at())
	}
}

// nextDue is what a claim's state must say after the claim.
func (m *model) nextDue(destination string, blockedUntil time.Time) time.Duration {
	next := time.Duration(-1)
	note := func(at time.Time) {
		if in := max(at.Sub(m.now), 0); next < 0 || in < next {
			next = in
		}
	}
	for _, d := range m.deliveries {
		if d.destination == destination && m.ready(d) && (!d.suspect || d.due.After(m.now)) {
			note(d.due)
		}
	}
	if !blockedUntil.IsZero() {
		note(blockedUntil)
	}
	return next
}

func (d *modelDelivery) String() string {
	return fmt.Sprintf("%s#%d(order %d, key %q, %s, due %v, token %d, suspect %v)", d.destination, d.seq, d.order, d.key, d.status, d.due, d.token, d.suspect)
}
