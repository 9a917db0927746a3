package sqlite

import (
	"fmt"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// suspectsLooked is how many suspects a claim looks at to find one that it may
// take.
const suspectsLooked = 16

// suspect leases the first suspect of w's destination that it may, and
// quarantines those before it whose process has ended too often. It returns
// when to try again if all that are due must wait for another of their key to
// come back, else 0.
func (c *claiming) suspect(w outbox.Want) (again int64, err error) {
	for {
		rows, err := c.q.Suspects(background, sqlitedb.SuspectsParams{Destination: w.Destination, Now: c.now, Room: suspectsLooked})
		if err != nil {
			return 0, err
		}
		again, changed := int64(0), false
		for _, r := range candidates(rows) {
			var taken bool
			var until int64
			if taken, until, err = c.trySuspect(w, r); err != nil || taken {
				return 0, err
			}
			if until == 0 {
				changed = true
				if r.OrderingKey != nil {
					break // another of its key may come before the rest
				}
			} else if again == 0 || until < again {
				again = until
			}
		}
		if !changed || len(c.claim.Quarantined) >= quarantinesAtOnce {
			return again, nil
		}
	}
}

// trySuspect leases r, or quarantines it, or gives its turn to one that comes
// before it, or returns until when another of its key is in flight.
func (c *claiming) trySuspect(w outbox.Want, r candidate) (taken bool, until int64, err error) {
	kind, reason := c.unfit(w, r)
	if c.crashLimit > 0 && r.CrashCount >= c.crashLimit {
		kind, reason = outbox.FailureCrash, fmt.Sprintf("its process ended %d times while it was attempted alone", r.CrashCount)
	}
	if kind != "" {
		return false, 0, c.quarantine(w.Destination, r, kind, reason)
	}
	mine, until, err := c.turnOf(w.Destination, r)
	if err != nil || !mine {
		return false, until, err
	}
	err = oneRow(c.q.LeaseSuspect(background, sqlitedb.LeaseSuspectParams{
		LeaseToken: -c.token, LeaseEnd: later(c.now, w.Lease), Now: c.now, Seq: r.Seq, Destination: w.Destination,
	}))
	if err != nil {
		return false, 0, err
	}
	r.CrashCount++
	c.add(w.Destination, r, -c.token)
	return true, 0, nil
}

// turnOf reports whether a suspect that is due may be attempted now. While
// another of its key is in flight it may not, and until is when that lease
// ends. Otherwise whoever held the key's run is fenced off; and the turn goes
// to one that has come into line before the suspect meanwhile, if there is one.
func (c *claiming) turnOf(destination string, r candidate) (mine bool, until int64, err error) {
	if r.OrderingKey == nil {
		return true, 0, nil
	}
	end, err := c.q.RunLeaseEnd(background, sqlitedb.RunLeaseEndParams{Destination: destination, OrderingKey: r.OrderingKey})
	if err != nil || end > c.now {
		return false, end, err
	}
	if _, err := c.q.ReleaseRun(background, sqlitedb.ReleaseRunParams{Now: c.now, Destination: destination, OrderingKey: r.OrderingKey}); err != nil {
		return false, 0, err
	}
	first, err := c.q.FirstInLine(background, sqlitedb.FirstInLineParams{Destination: destination, OrderingKey: r.OrderingKey})
	if err != nil || first.Seq == r.Seq {
		return true, 0, err
	}
	c.turned = true
	if err := oneRow(c.q.ReleaseHolder(background, sqlitedb.ReleaseHolderParams{Now: c.now, Seq: r.Seq, Destination: destination})); err != nil {
		return false, 0, err
	}
	return false, 0, line{q: c.q, now: c.now}.pass(destination, *r.OrderingKey, 0)
}

// quarantine makes r a dead letter, passes its key's turn, and gives back what
// its run leaves behind when it holds.
func (c *claiming) quarantine(destination string, r candidate, kind outbox.FailureKind, reason string) error {
	l := line{q: c.q, now: c.now}
	id, err := l.quarantine(deadly{seq: r.Seq, destination: destination, kind: kind, reason: reason})
	if err != nil {
		return err
	}
	if r.OrderingKey != nil {
		if err := l.leave(left{seq: r.Seq, destination: destination, key: *r.OrderingKey, token: r.LeaseToken, turn: true, failed: r.Hold != 0}); err != nil {
			return err
		}
	}
	e := r.event()
	c.claim.Quarantined = append(c.claim.Quarantined, outbox.DeadLetterInfo{
		ID: id, EventID: r.ID, EventType: e.Type, Version: e.Version, Destination: destination, OrderingKey: e.OrderingKey,
		IdempotencyKey: e.IdempotencyKey, Kind: kind, Reason: reason, RetryCount: int(r.RetryCount), ReplayCount: int(r.ReplayCount),
		QuarantinedAt: when(c.now), EventCreatedAt: e.CreatedAt,
	})
	return nil
}
