package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

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
