package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// checkHistories runs random histories of one ordering key each, as a
// dispatcher would make them, and looks only at what order promises: two
// deliveries of a key are never in flight at once, none is attempted while an
// earlier one is open, first successes come in commit order, and no key is
// stranded. 400 histories, under soak 20,000.
func checkHistories(c *storeCase) {
	histories := 400
	if soak() {
		histories = 20_000
	}
	seed := rand.Uint64()
	for i := range histories {
		h := &history{storeCase: c, rnd: rand.New(rand.NewPCG(seed, uint64(i))), number: i, events: make(map[uuid.UUID]*historyEvent)}
		h.run()
		if c.Failed() {
			c.Fatalf("in history %d of seed %d:\n%s", i, seed, h.log)
		}
	}
}

type history struct {
	*storeCase
	rnd    *rand.Rand
	number int
	step   int
	log    []byte

	events map[uuid.UUID]*historyEvent
	order  []*historyEvent
	runs   []*historyRun
}

// historyEvent is an event of the key at one of two destinations.
type historyEvent struct {
	id          uuid.UUID
	order       int
	destination string
	hold        bool
	entered     int  // step at which it took its place in line
	disturbed   bool // replayed or moved: its success may come late
	delivered   int  // step; 0: not yet
	purged      bool
}

// historyRun is what one claim gave of the key, attempted one after another.
type historyRun struct {
	claimed  int // step
	ends     time.Time
	members  []*outbox.Delivery
	inFlight bool // the first is
}

func (h *history) notef(format string, args ...any) {
	h.log = fmt.Appendf(h.log, "%3d %s\n", h.step, fmt.Sprintf(format, args...))
}

func (h *history) failf(format string, args ...any) {
	h.notef(format, args...)
	h.Errorf(format, args...)
}

func (h *history) destination(i int) string {
	return fmt.Sprintf("%s%d", string(rune('a'+i)), h.number)
}

func (h *history) run() {
	for h.step = 1; h.step <= 40 && !h.Failed(); h.step++ {
		switch h.rnd.IntN(14) {
		case 0, 1:
			h.insert()
		case 2, 3, 4:
			h.claim()
		case 5, 6:
			h.start()
		case 7, 8, 9:
			h.finish()
		case 10:
			h.giveBack()
		case 11:
			h.replayOrDiscard()
		case 12:
			h.move()
		case 13:
			h.advance()
		}
	}
	h.drain()
}

func (h *history) insert() {
	for range 1 + h.rnd.IntN(3) {
		e := &historyEvent{order: len(h.order), destination: h.destination(h.rnd.IntN(2)), hold: h.rnd.IntN(2) == 0, entered: h.step}
		rec := h.record(fmt.Sprintf("%d/%d", h.number, e.order), "k", e.destination)
		rec.Routes[0].Hold = e.hold
		e.id = rec.ID
		h.storeCase.insert(rec)
		h.events[e.id], h.order = e, append(h.order, e)
		h.notef("insert %d at %s, hold %v", e.order, e.destination, e.hold)
	}
}

func (h *history) claim() {
	h.claimAt(h.destination(h.rnd.IntN(2)), 1+h.rnd.IntN(4))
}

func (h *history) claimAt(destination string, room int) int {
	claim := h.claimWants(outbox.Want{Destination: destination, Room: room, Suspect: true})
	if len(claim.Deliveries) == 0 {
		return 0
	}
	r := &historyRun{claimed: h.step, ends: h.clock.Now().Add(lease), members: claim.Deliveries}
	h.runs = append(h.runs, r)
	for _, d := range r.members {
		h.notef("claimed %d at %s, suspect %v, token %d", h.events[d.ID].order, d.Destination, d.Suspect, d.Lease.Token)
	}
	return len(r.members)
}

// pick returns a run with members whose leases hold, or nil.
func (h *history) pick() *historyRun {
	var live []*historyRun
	for _, r := range h.runs {
		if len(r.members) > 0 && r.ends.After(h.clock.Now()) {
			live = append(live, r)
		}
	}
	if len(live) == 0 {
		return nil
	}
	return live[h.rnd.IntN(len(live))]
}

// start begins the attempt of a run's first member, and looks whether it may.
func (h *history) start() {
	r := h.pick()
	if r == nil || r.inFlight {
		return
	}
	r.inFlight = true
	d := r.members[0]
	mine := h.events[d.ID]
	h.notef("start %d at %s", mine.order, d.Destination)
	for _, other := range h.runs {
		if other != r && other.inFlight && len(other.members) > 0 && other.members[0].Destination == d.Destination && other.ends.After(h.clock.Now()) {
			h.failf("%d and %d are in flight at once", mine.order, h.events[other.members[0].ID].order)
		}
	}
	for _, e := range h.order[:mine.order] {
		if e.destination != d.Destination || e.purged || e.entered > r.claimed {
			continue
		}
		if status, ok := h.status(e); ok && (status == outbox.Pending || status == outbox.Processing) {
			h.failf("%d is attempted while %d is %s", mine.order, e.order, status)
		}
	}
}

func (h *history) status(e *historyEvent) (outbox.Status, bool) {
	status, ok, err := h.Status(h.ctx, e.id, e.destination)
	h.must(err)
	return status, ok
}

// finish settles attempts of a run: some that succeed, and perhaps one more.
func (h *history) finish() {
	r := h.pick()
	if r == nil || !r.inFlight {
		return
	}
	var settlements []outbox.Settlement
	for len(r.members) > 0 {
		d := r.members[0]
		r.members = r.members[1:]
		r.inFlight = false
		switch v := h.rnd.IntN(6); v {
		case 0:
			settlements = append(settlements, retry(d, time.Duration(h.rnd.IntN(3))*20*time.Second))
		case 1:
			settlements = append(settlements, quarantine(d))
		case 2:
			settlements = append(settlements, giveBack(d, 0))
		default:
			settlements = append(settlements, deliver(d))
		}
		last := settlements[len(settlements)-1]
		h.notef("verdict %d for %d at %s", last.Verdict, h.events[d.ID].order, d.Destination)
		if last.Verdict != outbox.Deliver && !(last.Verdict == outbox.Quarantine && !d.Hold) {
			if h.rnd.IntN(2) == 0 { // a dispatcher may give back the rest itself
				for _, rest := range r.members {
					settlements = append(settlements, giveBack(rest, 0))
				}
			}
			r.members = nil
		}
		if h.rnd.IntN(2) == 0 {
			break
		}
		if len(r.members) > 0 {
			h.mayStart(r)
		}
	}
	lost, err := h.Store.Settle(h.ctx, settlements)
	h.must(err)
	for i, st := range settlements {
		if lost[i] {
			h.failf("the settlement of %+v was lost within its lease", st.Lease)
		}
		if st.Verdict == outbox.Deliver {
			h.succeeded(st.Lease, r)
		}
	}
}

// mayStart starts the next member before the last one's settle is written, as
// a dispatcher that settles in batches does.
func (h *history) mayStart(r *historyRun) {
	r.inFlight = true
	h.notef("start %d at %s unsettled", h.events[r.members[0].ID].order, r.members[0].Destination)
}

func (h *history) succeeded(l outbox.Lease, r *historyRun) {
	for _, e := range h.order {
		if status, ok := h.status(e); !ok || status != outbox.Published || e.delivered > 0 || e.destination != l.Destination {
			continue
		}
		e.delivered = h.step
		for _, later := range h.order[e.order+1:] {
			if later.delivered > 0 && later.delivered < h.step && later.destination == e.destination && !later.disturbed && !e.disturbed {
				h.failf("%d was delivered after %d", e.order, later.order)
			}
		}
	}
}

// giveBack gives back a run that has not begun, in any order.
func (h *history) giveBack() {
	r := h.pick()
	if r == nil || r.inFlight {
		return
	}
	var settlements []outbox.Settlement
	for _, d := range r.members {
		settlements = append(settlements, giveBack(d, time.Duration(h.rnd.IntN(2))*10*time.Second))
	}
	h.rnd.Shuffle(len(settlements), func(i, j int) { settlements[i], settlements[j] = settlements[j], settlements[i] })
	h.notef("give back %d of %s", len(settlements), r.members[0].Destination)
	r.members = nil
	lost, err := h.Store.Settle(h.ctx, settlements)
	h.must(err)
	if slices.Contains(lost, true) {
		h.failf("a give-back within its lease was lost: %v", lost)
	}
}

func (h *history) replayOrDiscard() {
	f := outbox.DeadLetterFilter{Destination: h.destination(h.rnd.IntN(2)), Limit: h.rnd.IntN(3)}
	op, name := h.Store.Replay, "replay"
	if h.rnd.IntN(3) == 0 {
		op, name = h.Store.Discard, "discard"
	}
	done, err := op(h.ctx, f, outbox.Apply)
	h.must(err)
	for _, info := range done {
		e := h.events[uuid.MustParse(info.EventID)]
		h.notef("%s %d", name, e.order)
		e.entered, e.disturbed = h.step, true
	}
}

func (h *history) move() {
	from := h.rnd.IntN(2)
	was := make(map[*historyEvent]bool)
	for _, e := range h.order {
		_, there := h.status(e)
		was[e] = there && e.destination == h.destination(from)
	}
	_, err := h.Store.Move(h.ctx, outbox.Move{From: h.destination(from), To: h.destination(1 - from), Hold: map[string]bool{"order.created": h.rnd.IntN(2) == 0}})
	h.must(err)
	for _, e := range h.order {
		if !was[e] {
			continue
		}
		if _, still := h.status(e); !still {
			e.destination = h.destination(1 - from)
			e.entered, e.disturbed = h.step, true
			h.notef("moved %d to %s", e.order, e.destination)
		}
	}
}

// advance lets leases end or backoffs pass; who held an ended lease is gone.
func (h *history) advance() {
	d := []time.Duration{time.Second, 15 * time.Second, 25 * time.Second, lease}[h.rnd.IntN(4)]
	h.clock.Advance(d)
	h.notef("%v pass", d)
	if h.rnd.IntN(4) == 0 {
		n, err := h.Store.Purge(h.ctx, time.Minute, 100)
		h.must(err)
		h.notef("purged %d", n)
		for _, e := range h.order {
			if _, there := h.status(e); !there {
				e.purged = true
			}
		}
	}
}

// drain delivers what can be delivered: nothing must be left but what a dead
// letter holds, and nothing at all when those are discarded.
func (h *history) drain() {
	for range 2 {
		for quiet := 0; quiet < 3 && !h.Failed(); quiet++ {
			h.clock.Advance(time.Hour)
			h.runs = nil
			for i := range 2 {
				if h.claimAt(h.destination(i), 1000) > 0 {
					quiet = -1
				}
			}
			for _, r := range h.runs {
				h.settle(deliverAll(r.members)...)
			}
		}
		h.settled()
		_, err := h.Store.Discard(context.WithoutCancel(h.ctx), outbox.DeadLetterFilter{}, outbox.Apply)
		h.must(err)
	}
	h.check()
}

func deliverAll(ds []*outbox.Delivery) []outbox.Settlement {
	settlements := make([]outbox.Settlement, len(ds))
	for i, d := range ds {
		settlements[i] = deliver(d)
	}
	return settlements
}

func (h *history) settled() {
	held := map[string]bool{}
	dead, err := h.Store.DeadLetters(h.ctx, outbox.DeadLetterFilter{Limit: 1000})
	h.must(err)
	letters := make(map[string]bool)
	for _, info := range dead {
		letters[info.EventID] = true
	}
	for _, e := range h.order {
		status, ok := h.status(e)
		switch {
		case !ok || status == outbox.Published:
		case status == outbox.DeadLetter:
			held[e.destination] = held[e.destination] || letters[e.id.String()]
		case !held[e.destination]:
			h.failf("%d is %s at %s though nothing holds it", e.order, status, e.destination)
		}
	}
}
