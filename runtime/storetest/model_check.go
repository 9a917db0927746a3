package storetest

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/outboxtest"
)

// checkModel drives the store and the model with the same random steps and
// compares every answer: some 6,000 steps, under soak more than 100,000.
func checkModel(c *storeCase) {
	checks, steps := "40", "150"
	if soak() {
		checks, steps = "500", "250"
	}
	set(c, "rapid.checks", checks)
	set(c, "rapid.steps", steps)
	rapid.Check(c.T, func(t *rapid.T) {
		run := &modelRun{T: t, ctx: c.ctx, clock: newClock(), m: &model{turns: make(map[modelKey]*modelDelivery), marks: make(map[string]*modelMarks)}}
		run.m.now = run.clock.Now()
		run.h = c.open(c.T, run.clock.Now)
		if run.h.Close != nil {
			defer run.h.Close()
		}
		t.Repeat(map[string]func(*rapid.T){
			"insert":   run.insert,
			"insert ":  run.insert, // twice as often
			"claim":    run.claim,
			"claim ":   run.claim,
			"settle":   run.settle,
			"settle ":  run.settle,
			"late":     run.settleLate,
			"renew":    run.renew,
			"advance":  run.advance,
			"clock":    run.stepClock,
			"replay":   run.replay,
			"discard":  run.discard,
			"move":     run.move,
			"purge":    run.purge,
			"mend":     run.mend,
			"pause":    run.pause,
			"":         run.compare,
			"statuses": run.statuses,
		})
		run.statuses(t)
	})
}

func set(c *storeCase, name, value string) {
	f := flag.Lookup(name)
	if f == nil {
		c.Fatalf("rapid has no flag %s", name)
	}
	before := f.Value.String()
	c.must(f.Value.Set(value))
	c.Cleanup(func() { _ = f.Value.Set(before) })
}

type modelRun struct {
	*rapid.T
	ctx   context.Context
	clock *outboxtest.Clock
	h     Harness
	m     *model

	held    []*outbox.Delivery // claimed and not yet settled by us
	old     []*outbox.Delivery // settled, or lost
	inserts int
	deaths  int
}

var (
	modelDestinations = []string{"a", "b", "c"}
	modelKeys         = []string{"", "", "k", "l"}
)

func (r *modelRun) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *modelRun) number() int {
	r.deaths++
	return r.deaths
}

func (r *modelRun) delay(t *rapid.T) time.Duration {
	return time.Duration(rapid.SampledFrom([]int{0, 0, 1, 10, 70}).Draw(t, "delay")) * time.Second
}

func (r *modelRun) insert(t *rapid.T) {
	n := rapid.IntRange(1, 4).Draw(t, "events")
	for range n {
		r.inserts++
		rec := outbox.Record{
			ID: uuid.Must(uuid.NewV7()), Type: "order.created", Version: 1, OrderingKey: rapid.SampledFrom(modelKeys).Draw(t, "key"),
			Payload: []byte("{}"), IdempotencyKey: fmt.Sprintf("%064d", r.inserts),
		}
		hold := rapid.Bool().Draw(t, "hold")
		for _, d := range modelDestinations[:rapid.IntRange(1, 2).Draw(t, "destinations")] {
			rec.Routes = append(rec.Routes, outbox.Route{Destination: d, Hold: hold})
		}
		r.must(r.h.InTx(r.ctx, func(tx Tx) error {
			_, err := tx.Insert(r.ctx, rec)
			return err
		}))
		for _, route := range rec.Routes {
			r.m.insert(&modelDelivery{id: rec.ID, destination: route.Destination, key: rec.OrderingKey, hold: hold})
		}
	}
}

func (r *modelRun) find(id string, destination string) *modelDelivery {
	for _, d := range r.m.deliveries {
		if d.id.String() == id && d.destination == destination {
			return d
		}
	}
	return nil
}

func (r *modelRun) bySeq(l outbox.Lease) *modelDelivery {
	for _, d := range r.m.deliveries {
		if d.seq == l.Seq && d.destination == l.Destination {
			return d
		}
	}
	return nil
}

func (r *modelRun) claim(t *rapid.T) {
	w := outbox.Want{
		Destination:        rapid.SampledFrom(modelDestinations).Draw(t, "destination"),
		Room:               rapid.IntRange(0, 6).Draw(t, "room"),
		Lease:              time.Minute,
		FewestRetriesFirst: rapid.IntRange(0, 3).Draw(t, "fewest") == 0,
		Suspect:            rapid.Bool().Draw(t, "suspect"),
	}
	if rapid.IntRange(0, 5).Draw(t, "max age") == 0 {
		w.MaxAge = 10 * time.Minute
	}
	const crashLimit = 2
	claim, err := r.h.Store.Claim(r.ctx, outbox.ClaimRequest{Wants: []outbox.Want{w}, CrashLimit: crashLimit})
	r.must(err)
	r.held = append(r.held, claim.Deliveries...)
	state := claim.States[0]

	marks := r.m.marks[w.Destination]
	if marks != nil && (marks.disabled || marks.pausedUntil.After(r.m.now)) {
		if len(claim.Deliveries)+len(claim.Quarantined) > 0 {
			t.Fatalf("claimed from a paused or disabled destination")
		}
		if (state.Disabled != "") != marks.disabled || state.PausedFor != max(marks.pausedUntil.Sub(r.m.now), 0) {
			t.Fatalf("the state is %+v, the marks are %+v", state, marks)
		}
		return
	}
	suspect, blocked := (*modelDelivery)(nil), time.Time{}
	quarantined := claim.Quarantined
	if w.Suspect {
		suspect, blocked, quarantined = r.suspects(t, w, quarantined, crashLimit)
	}
	for _, q := range quarantined {
		r.quarantined(t, w, q, outbox.FailureExpired)
	}
	heads := r.claimed(t, w, claim.Deliveries, suspect)
	r.complete(t, w, heads, state, claim.Deliveries, blocked)
}

// suspects does what a claim does about suspects, in the order in which they
// are due, and returns the one that it must have leased, or when another of the
// key of those that are due comes back.
func (r *modelRun) suspects(t *rapid.T, w outbox.Want, quarantined []outbox.DeadLetterInfo, crashLimit int) (*modelDelivery, time.Time, []outbox.DeadLetterInfo) {
	for {
		var blocked time.Time
		changed := false
		for _, d := range r.m.suspectsDue(w.Destination) {
			until, busy := r.m.inFlightBehind(d)
			kind := outbox.FailureKind("")
			switch {
			case d.crashes >= crashLimit:
				kind = outbox.FailureCrash
			case r.m.expired(d, w.MaxAge):
				kind = outbox.FailureExpired
			case busy:
				if blocked.IsZero() || until.Before(blocked) {
					blocked = until
				}
				continue
			case r.m.overtaken(d):
				r.m.yield(d)
			default:
				return d, time.Time{}, quarantined
			}
			if kind != "" {
				if len(quarantined) == 0 {
					t.Fatalf("%v was not quarantined as %s", d, kind)
				}
				r.quarantined(t, w, quarantined[0], kind)
				quarantined = quarantined[1:]
			}
			changed = true
			break
		}
		if !changed {
			return nil, blocked, quarantined
		}
	}
}

// quarantined checks and applies a dead letter that a claim made.
func (r *modelRun) quarantined(t *rapid.T, w outbox.Want, q outbox.DeadLetterInfo, kind outbox.FailureKind) {
	d := r.find(q.EventID, q.Destination)
	switch {
	case d == nil || d.destination != w.Destination || !r.m.ready(d) || d.due.After(r.m.now):
		t.Fatalf("%v was quarantined and is not due", d)
	case q.Kind != kind || kind == outbox.FailureExpired && !r.m.expired(d, w.MaxAge):
		t.Fatalf("%v was quarantined as %s, want %s", d, q.Kind, kind)
	case q.RetryCount != d.retries || q.ReplayCount != d.replays:
		t.Fatalf("%v was quarantined with counts %+v", d, q)
	}
	r.m.dead(d, false, r.number())
}

// claimed checks and applies what a claim leased; suspect is what it must have
// leased as one, or nil. It returns the others that had their turn, as they were.
func (r *modelRun) claimed(t *rapid.T, w outbox.Want, deliveries []*outbox.Delivery, suspect *modelDelivery) (heads []*modelDelivery) {
	var before []*modelDelivery
	end := r.m.now.Add(w.Lease)
	for _, got := range deliveries {
		d := r.find(got.ID.String(), got.Destination)
		if d == nil || d.destination != w.Destination {
			t.Fatalf("claimed %+v, which is not there", *got)
		}
		if d.seq == 0 {
			d.seq = got.Seq
		}
		switch {
		case got.Suspect:
			if d != suspect {
				t.Fatalf("claimed as a suspect: %v, want %v", d, suspect)
			}
			suspect = nil
			r.m.leaseSuspect(d, got.Lease.Token, end)
		case d.suspect || d.status != outbox.Pending || d.due.After(r.m.now) || r.m.expired(d, w.MaxAge):
			t.Fatalf("claimed as ordinary: %v", d)
		case r.m.ready(d):
			was := *d
			heads = append(heads, &was)
			r.m.leaseOrdinary(d, got.Lease.Token, end)
		default: // it follows in a run of this claim
			line := r.m.line(d.at())
			i := slices.Index(line, d)
			if w.FewestRetriesFirst || i < 1 || !slices.Contains(before, line[i-1]) || line[i-1].token != got.Lease.Token {
				t.Fatalf("claimed out of turn: %v", d)
			}
			r.m.leaseOrdinary(d, got.Lease.Token, end)
		}
		before = append(before, d)
		if got.Seq != d.seq || got.OrderingKey != d.key || got.Hold != d.hold || got.RetryCount != d.retries || got.CrashCount != d.crashes || got.ReplayCount != d.replays || got.Age != max(r.m.now.Sub(d.waitingSince), 0) || got.Lease.Token == 0 {
			t.Fatalf("claimed %+v of %v", *got, d)
		}
	}
	if suspect != nil {
		t.Fatalf("suspect %v was left", suspect)
	}
	return heads
}

// complete checks that the claim left nothing behind that it should have taken,
// and what it says about that.
func (r *modelRun) complete(t *rapid.T, w outbox.Want, heads []*modelDelivery, state outbox.ClaimState, deliveries []*outbox.Delivery, blocked time.Time) {
	ordinary := 0
	for _, d := range deliveries {
		if !d.Suspect {
			ordinary++
		}
	}
	left := r.m.ordinaryDue(w.Destination)
	if ordinary > w.Room || ordinary < w.Room && len(left) > 0 {
		t.Fatalf("%d were claimed for a room of %d, and %v left", ordinary, w.Room, left)
	}
	for _, h := range heads {
		for _, l := range left {
			if w.FewestRetriesFirst && h.retries > l.retries || !w.FewestRetriesFirst && h.due.After(l.due) {
				t.Fatalf("%v was claimed before %v", h, l)
			}
		}
	}
	waiting := r.m.suspectsDue(w.Destination)
	if state.SuspectWaiting != (len(waiting) > 0 && blocked.IsZero()) {
		t.Fatalf("SuspectWaiting is %v with %v", state.SuspectWaiting, waiting)
	}
	if want := r.m.nextDue(w.Destination, blocked); state.NextDue != want && (state.NextDue >= 0 || want >= 0) {
		t.Fatalf("NextDue is %v, want %v", state.NextDue, want)
	}
}

// draw takes some of the held deliveries out.
func (r *modelRun) draw(t *rapid.T) []*outbox.Delivery {
	if len(r.held) == 0 {
		t.Skip("nothing is held")
	}
	var picked []*outbox.Delivery
	for range rapid.IntRange(1, 4).Draw(t, "settlements") {
		if len(r.held) == 0 {
			break
		}
		i := rapid.IntRange(0, len(r.held)-1).Draw(t, "which")
		picked = append(picked, r.held[i])
		r.held = slices.Delete(r.held, i, i+1)
	}
	return picked
}

func (r *modelRun) settlement(t *rapid.T, d *outbox.Delivery) outbox.Settlement {
	st := outbox.Settlement{Lease: d.Lease, Verdict: rapid.SampledFrom([]outbox.Verdict{outbox.Deliver, outbox.Deliver, outbox.Retry, outbox.Quarantine, outbox.GiveBack}).Draw(t, "verdict")}
	switch st.Verdict {
	case outbox.Retry, outbox.GiveBack:
		st.Delay = r.delay(t)
		st.Attempted, st.Spent = st.Verdict == outbox.Retry, st.Verdict == outbox.Retry
	case outbox.Quarantine:
		st.Kind, st.Attempted, st.Spent = outbox.FailureExhausted, true, true
	}
	if st.Attempted {
		st.Failure = failure("failed")
	}
	return st
}

func (r *modelRun) settle(t *rapid.T) {
	var settlements []outbox.Settlement
	for _, d := range r.draw(t) {
		r.old = append(r.old, d)
		settlements = append(settlements, r.settlement(t, d))
	}
	r.apply(t, settlements)
}

// settleLate settles leases that have been settled already.
func (r *modelRun) settleLate(t *rapid.T) {
	if len(r.old) == 0 {
		t.Skip("nothing is settled")
	}
	d := r.old[rapid.IntRange(0, len(r.old)-1).Draw(t, "which")]
	r.apply(t, []outbox.Settlement{r.settlement(t, d)})
}

func (r *modelRun) apply(t *rapid.T, settlements []outbox.Settlement) {
	lost, err := r.h.Store.Settle(r.ctx, settlements)
	r.must(err)
	returned := make(map[outbox.Lease]bool)
	// A store settles destination by destination: the order within each counts.
	for i, st := range settlements {
		if want := r.m.settle(r.bySeq(st.Lease), st, returned, r.number); lost[i] != want {
			t.Fatalf("settlement %+v: lost is %v, want %v", st, lost[i], want)
		}
	}
}

func (r *modelRun) renew(t *rapid.T) {
	if len(r.held) == 0 {
		t.Skip("nothing is held")
	}
	l := r.held[rapid.IntRange(0, len(r.held)-1).Draw(t, "which")].Lease
	lost, err := r.h.Store.Renew(r.ctx, []outbox.Lease{l}, 90*time.Second)
	r.must(err)
	d := r.bySeq(l)
	want := d == nil || d.status != outbox.Processing || d.token != l.Token
	if lost[0] != want {
		t.Fatalf("renewal of %+v: lost is %v, want %v", l, lost[0], want)
	}
	if !want {
		d.due, d.updatedAt = r.m.now.Add(90*time.Second), r.m.now
	}
}

func (r *modelRun) advance(t *rapid.T) {
	r.clock.Advance(time.Duration(rapid.SampledFrom([]int{1, 5, 30, 61, 61, 700}).Draw(t, "seconds")) * time.Second)
	r.m.now = r.clock.Now()
}

// stepClock steps the clock back or forth, as a wrong one that is set right.
func (r *modelRun) stepClock(t *rapid.T) {
	if rapid.IntRange(0, 4).Draw(t, "seldom") > 0 {
		t.Skip("not now")
	}
	r.clock.Advance(time.Duration(rapid.SampledFrom([]int{-3600, -10, 3600}).Draw(t, "seconds")) * time.Second)
	r.m.now = r.clock.Now()
}

func (r *modelRun) deadLetters() []*modelDelivery {
	var dead []*modelDelivery
	for _, d := range r.m.deliveries {
		if d.deadLetterSeq > 0 {
			dead = append(dead, d)
		}
	}
	slices.SortFunc(dead, func(a, b *modelDelivery) int { return a.deadLetterSeq - b.deadLetterSeq })
	return dead
}

// bulk replays or discards some dead letters, oldest first.
func (r *modelRun) bulk(t *rapid.T, op func(context.Context, outbox.DeadLetterFilter, outbox.Mode) ([]outbox.DeadLetterInfo, error), apply func(*modelDelivery)) {
	f := outbox.DeadLetterFilter{Destination: rapid.SampledFrom(modelDestinations).Draw(t, "destination"), Limit: rapid.IntRange(0, 3).Draw(t, "limit")}
	done, err := op(r.ctx, f, outbox.Apply)
	r.must(err)
	var want []*modelDelivery
	for _, d := range r.deadLetters() {
		if d.destination == f.Destination && (f.Limit == 0 || len(want) < f.Limit) {
			want = append(want, d)
		}
	}
	if len(done) != len(want) {
		t.Fatalf("%d were changed, want %d", len(done), len(want))
	}
	for i, d := range want {
		if done[i].EventID != d.id.String() {
			t.Fatalf("%+v was changed, want %v", done[i], d)
		}
		apply(d)
	}
}

func (r *modelRun) replay(t *rapid.T) { r.bulk(t, r.h.Store.Replay, r.m.replay) }

func (r *modelRun) discard(t *rapid.T) {
	r.bulk(t, r.h.Store.Discard, func(d *modelDelivery) {
		d.deadLetterSeq = 0
		r.m.discard(d)
	})
}

func (r *modelRun) move(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "seldom") > 0 {
		t.Skip("not now")
	}
	from := rapid.SampledFrom(modelDestinations).Draw(t, "from")
	to := rapid.SampledFrom(modelDestinations).Draw(t, "to")
	if from == to {
		t.Skip("one destination")
	}
	got, err := r.h.Store.Move(r.ctx, outbox.Move{From: from, To: to})
	r.must(err)
	var want outbox.MoveResult
	for _, d := range slices.Clone(r.m.deliveries) {
		switch {
		case d.destination != from || !d.open() && d.deadLetterSeq == 0:
		case d.status == outbox.Processing && d.due.After(r.m.now):
			want.Leased++
		case r.find(d.id.String(), to) != nil:
			want.Existing++
		default:
			want.Moved++
			r.m.move(d, to)
		}
	}
	if got != want {
		t.Fatalf("Move returned %+v, want %+v", got, want)
	}
}

func (r *modelRun) purge(t *rapid.T) {
	const retention = 5 * time.Minute
	got, err := r.h.Store.Purge(r.ctx, retention, 1000)
	r.must(err)
	before := r.m.now.Add(-retention)
	keep := make(map[uuid.UUID]bool)
	all := make(map[uuid.UUID]bool)
	for _, d := range r.m.deliveries {
		all[d.id] = true
		if d.open() || d.deadLetterSeq > 0 || !d.createdAt.Before(before) || !d.updatedAt.Before(before) {
			keep[d.id] = true
		}
	}
	if want := len(all) - len(keep); got != want {
		t.Fatalf("purged %d events, want %d", got, want)
	}
	r.m.deliveries = slices.DeleteFunc(r.m.deliveries, func(d *modelDelivery) bool { return !keep[d.id] })
}

func (r *modelRun) mend(t *rapid.T) {
	if n, err := r.h.Store.Mend(r.ctx); err != nil || n != 0 {
		t.Fatalf("Mend found %d stranded keys, %v", n, err)
	}
}

func (r *modelRun) pause(t *rapid.T) {
	change := outbox.DestinationChange{
		Destination: rapid.SampledFrom(modelDestinations).Draw(t, "destination"),
		Action:      rapid.SampledFrom([]outbox.DestinationAction{outbox.Pause, outbox.Resume, outbox.Resume, outbox.Disable, outbox.Enable, outbox.Enable}).Draw(t, "action"),
		For:         20 * time.Second,
		Reason:      "x",
	}
	r.must(r.h.Store.SetDestination(r.ctx, change))
	marks := r.m.marks[change.Destination]
	if marks == nil {
		marks = &modelMarks{}
		r.m.marks[change.Destination] = marks
	}
	switch change.Action {
	case outbox.Pause:
		if until := r.m.now.Add(change.For); until.After(marks.pausedUntil) {
			marks.pausedUntil = until
		}
	case outbox.Resume:
		marks.pausedUntil = time.Time{}
	case outbox.Disable, outbox.Enable:
		marks.disabled = change.Action == outbox.Disable
	}
}

// compare holds the counts against each other after each step.
func (r *modelRun) compare(t *rapid.T) {
	states, err := r.h.Store.Destinations(r.ctx)
	r.must(err)
	for _, name := range modelDestinations {
		var want outbox.DestinationState
		for _, d := range r.m.deliveries {
			switch {
			case d.destination != name:
			case d.status == outbox.Pending:
				want.Pending++
			case d.status == outbox.Processing:
				want.Processing++
			case d.deadLetterSeq > 0:
				want.DeadLetters++
			}
		}
		var got outbox.DestinationState
		for _, s := range states {
			if s.Destination == name {
				got = s
			}
		}
		if got.Pending != want.Pending || got.Processing != want.Processing || got.DeadLetters != want.DeadLetters {
			t.Fatalf("%s has %+v, want %+v", name, got, want)
		}
	}
	if r.h.Check != nil {
		r.must(r.h.Check(r.ctx))
	}
}

// statuses compares every delivery.
func (r *modelRun) statuses(t *rapid.T) {
	for _, d := range r.m.deliveries {
		got, ok, err := r.h.Status(r.ctx, d.id, d.destination)
		r.must(err)
		if !ok || got != d.status {
			t.Fatalf("%v is %q in the store", d, got)
		}
	}
}
