package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// quarantinesAtOnce bounds how many dead letters one claim makes: the rest
// wait for the next one, which is asked for at once.
const quarantinesAtOnce = 500

// Claim implements outbox.Store.
func (s *Store) Claim(ctx context.Context, req outbox.ClaimRequest) (outbox.Claim, error) {
	if err := s.barrier.ready(ctx); err != nil {
		return outbox.Claim{}, explain("claim from", s.path, err)
	}
	var c *claiming
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		c = &claiming{q: sqlitedb.New(tx), now: s.micros(), token: rand.Int64N(math.MaxInt64) + 1, crashLimit: int64(req.CrashLimit)}
		if err := c.all(req.Wants); err != nil {
			return err
		}
		if !c.changed() {
			return errNothingChanged
		}
		return nil
	})
	if err != nil && !errors.Is(err, errNothingChanged) {
		return outbox.Claim{}, explain("claim from", s.path, err)
	}
	if len(c.claim.Deliveries) == 0 {
		return c.claim, nil
	}
	if err := s.barrier.sync(); err != nil {
		return outbox.Claim{}, errors.Join(err, s.giveBack(ctx, c.claim.Deliveries))
	}
	return c.claim, nil
}

// errNothingChanged rolls an empty claim back, which writes nothing.
var errNothingChanged = errors.New("nothing changed")

// giveBack undoes a claim that must not be sent.
func (s *Store) giveBack(ctx context.Context, deliveries []*outbox.Delivery) error {
	settlements := make([]outbox.Settlement, len(deliveries))
	for i, d := range deliveries {
		settlements[i] = outbox.Settlement{Lease: d.Lease, Verdict: outbox.GiveBack}
	}
	if _, err := s.Settle(ctx, settlements); err != nil {
		return fmt.Errorf("the claim could not be given back; its leases end by themselves: %w", err)
	}
	return nil
}

// claiming is one claim transaction.
type claiming struct {
	q          *sqlitedb.Queries
	now        int64
	token      int64 // of ordinary leases; a suspect's is its negative
	crashLimit int64
	turned     bool // a key's turn went to another
	claim      outbox.Claim
}

func (c *claiming) changed() bool {
	return c.turned || len(c.claim.Deliveries)+len(c.claim.Quarantined) > 0
}

func (c *claiming) all(wants []outbox.Want) error {
	marks, err := c.q.DestinationMarks(background)
	if err != nil {
		return err
	}
	byName := make(map[string]sqlitedb.DestinationMarksRow, len(marks))
	for _, m := range marks {
		byName[m.Destination] = m
	}
	c.claim.States = make([]outbox.ClaimState, 0, len(wants))
	for _, w := range wants {
		if w.Lease <= 0 {
			return fmt.Errorf("for %s: a lease of %v ends before it begins", w.Destination, w.Lease)
		}
		state, err := c.want(w, byName[w.Destination])
		if err != nil {
			return fmt.Errorf("for %s: %w", w.Destination, err)
		}
		c.claim.States = append(c.claim.States, state)
	}
	return nil
}

func (c *claiming) want(w outbox.Want, mark sqlitedb.DestinationMarksRow) (outbox.ClaimState, error) {
	var state outbox.ClaimState
	if mark.DisabledReason != nil {
		state.Disabled = *mark.DisabledReason
	}
	if mark.PausedUntil != nil {
		state.PausedFor = duration(max(*mark.PausedUntil-c.now, 0))
	}
	blocked := int64(0)
	if state.Disabled == "" && state.PausedFor == 0 {
		if w.Suspect {
			var err error
			if blocked, err = c.suspect(w); err != nil {
				return state, err
			}
		}
		if w.Room > 0 {
			if err := c.ordinary(w); err != nil {
				return state, err
			}
		}
	}
	due, err := c.q.ClaimState(background, sqlitedb.ClaimStateParams{Destination: w.Destination, Now: c.now})
	if err != nil {
		return state, err
	}
	next := []int64{due.NextDue, due.NextLeaseEnd}
	if blocked > 0 {
		next = append(next, blocked)
	}
	state.NextDue = untilNext(c.now, next...)
	state.SuspectWaiting = due.SuspectDue && blocked == 0
	return state, nil
}

// untilNext is the time until the earlier of two times; -1 stands for none.
func untilNext(now int64, times ...int64) time.Duration {
	next := int64(-1)
	for _, t := range times {
		if t >= 0 && (next < 0 || t < next) {
			next = t
		}
	}
	if next < 0 {
		return -1
	}
	return duration(max(next-now, 0))
}

// ordinary leases up to w.Room due deliveries, and behind them the runs of
// their keys.
func (c *claiming) ordinary(w outbox.Want) error {
	room := w.Room
	var heads []candidate
	for room > 0 {
		due, err := c.due(w, room)
		if err != nil {
			return err
		}
		fresh, err := c.dropExpired(w, due)
		if err != nil {
			return err
		}
		if err := c.lease(w, fresh); err != nil {
			return err
		}
		room -= len(fresh)
		heads = append(heads, fresh...)
		if len(fresh) == len(due) || len(c.claim.Quarantined) >= quarantinesAtOnce {
			break
		}
	}
	if w.FewestRetriesFirst {
		return nil // a probe is one delivery, not a run
	}
	return c.followers(w, heads, room)
}

// candidate is a delivery with its event. The queries that yield it have the
// same columns.
type candidate sqlitedb.DueRow

func (c *claiming) due(w outbox.Want, room int) ([]candidate, error) {
	p := sqlitedb.DueParams{Destination: w.Destination, Now: c.now, Room: int64(room)}
	if !w.FewestRetriesFirst {
		rows, err := c.q.Due(background, p)
		return candidates(rows), err
	}
	untried, err := c.q.DueUntried(background, sqlitedb.DueUntriedParams(p))
	if err != nil || len(untried) == room {
		return candidates(untried), err
	}
	rows, err := c.q.DueByRetries(background, sqlitedb.DueByRetriesParams(p))
	return candidates(rows), err
}

func candidates[R sqlitedb.DueRow | sqlitedb.DueUntriedRow | sqlitedb.DueByRetriesRow | sqlitedb.FollowersRow | sqlitedb.SuspectsRow](rows []R) []candidate {
	cs := make([]candidate, len(rows))
	for i, r := range rows {
		cs[i] = candidate(r)
	}
	return cs
}

// dropExpired quarantines what has waited too long and what cannot be read,
// and returns the rest.
func (c *claiming) dropExpired(w outbox.Want, due []candidate) ([]candidate, error) {
	fresh := due[:0:len(due)]
	for _, r := range due {
		kind, reason := c.unfit(w, r)
		if kind == "" {
			fresh = append(fresh, r)
			continue
		}
		if err := c.quarantine(w.Destination, r, kind, reason); err != nil {
			return nil, err
		}
	}
	return fresh, nil
}

// unfit returns why r must not be attempted, or "".
func (c *claiming) unfit(w outbox.Want, r candidate) (outbox.FailureKind, string) {
	if age := duration(c.now - r.WaitingSince); w.MaxAge > 0 && age >= w.MaxAge {
		return outbox.FailureExpired, fmt.Sprintf("it waited for %v; max_age is %v", age.Round(time.Second), w.MaxAge)
	}
	if _, err := uuid.Parse(r.ID); err != nil {
		return outbox.FailureUndecodable, fmt.Sprintf("outbox.id is not a UUID: %v", err)
	}
	return "", ""
}

// followers extends the claimed heads to runs: what stands behind them in
// line, up to the first that cannot be attempted yet. The rest of the room is
// shared out between the heads.
func (c *claiming) followers(w outbox.Want, heads []candidate, room int) error {
	keyed := 0
	for _, h := range heads {
		if h.OrderingKey != nil {
			keyed++
		}
	}
	var run []candidate
	for _, h := range heads {
		if h.OrderingKey == nil || room == 0 {
			continue
		}
		share := (room + keyed - 1) / keyed
		keyed--
		rows, err := c.q.Followers(background, sqlitedb.FollowersParams{Destination: w.Destination, OrderingKey: h.OrderingKey, Head: h.Seq, Room: int64(share)})
		if err != nil {
			return err
		}
		for _, r := range candidates(rows) {
			if kind, _ := c.unfit(w, r); kind != "" || r.Status != string(outbox.Pending) || r.Suspect != 0 || r.AvailableAt > c.now {
				break
			}
			run = append(run, r)
			room--
		}
	}
	return c.lease(w, run)
}

func (c *claiming) lease(w outbox.Want, rows []candidate) error {
	if len(rows) == 0 {
		return nil
	}
	seqs := make([]int64, len(rows))
	for i, r := range rows {
		seqs[i] = r.Seq
	}
	n, err := c.q.LeaseMany(background, sqlitedb.LeaseManyParams{
		LeaseToken: c.token, LeaseEnd: later(c.now, w.Lease), Now: c.now, Destination: w.Destination, Seqs: numbers(seqs),
	})
	if err != nil {
		return err
	}
	if n != int64(len(rows)) {
		return fmt.Errorf("%d of %d deliveries were leased", n, len(rows))
	}
	for _, r := range rows {
		c.add(w.Destination, r, c.token)
	}
	return nil
}

func (c *claiming) add(destination string, r candidate, token int64) {
	e := r.event()
	c.claim.Deliveries = append(c.claim.Deliveries, &outbox.Delivery{
		Event:       &e,
		Destination: destination,
		Hold:        r.Hold != 0,
		RetryCount:  int(r.RetryCount),
		CrashCount:  int(r.CrashCount),
		ReplayCount: int(r.ReplayCount),
		Suspect:     token < 0,
		Age:         duration(max(c.now-r.WaitingSince, 0)),
		Lease:       outbox.Lease{Seq: r.Seq, Destination: destination, Token: token},
	})
}

// event reads the event's columns. An id that is none yields the zero UUID:
// unfit has sorted it out.
func (r candidate) event() outbox.Event {
	e := outbox.Event{
		Seq:            r.Seq,
		Type:           r.EventType,
		Version:        int(r.SchemaVersion),
		Payload:        []byte(r.PayloadJson),
		IdempotencyKey: r.IdempotencyKey,
		CreatedAt:      when(r.CreatedAt),
	}
	e.ID, _ = uuid.Parse(r.ID)
	if r.OrderingKey != nil {
		e.OrderingKey = *r.OrderingKey
	}
	if r.HeadersJson != nil {
		_ = json.Unmarshal([]byte(*r.HeadersJson), &e.Trace) // a trace that cannot be read is none
	}
	return e
}
