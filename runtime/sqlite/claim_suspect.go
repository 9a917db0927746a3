package sqlite

import (
	"fmt"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// suspectsLooked is how many suspects a claim looks at to find one that it may
// take.
const suspectsLooked = 16

// suspect leases one suspect of w's destination, and quarantines those whose
// process has ended too often.
func (c *claiming) suspect(w outbox.Want) error {
	for {
		rows, err := c.q.Suspects(background, sqlitedb.SuspectsParams{Destination: w.Destination, Now: c.now, Room: suspectsLooked})
		if err != nil {
			return err
		}
		gone := 0
		for _, r := range candidates(rows) {
			kind, reason := c.unfit(w, r)
			if c.crashLimit > 0 && r.CrashCount >= c.crashLimit {
				kind, reason = outbox.FailureCrash, fmt.Sprintf("its process ended %d times while it was attempted alone", r.CrashCount)
			}
			if kind != "" {
				gone++
				if err := c.quarantine(w.Destination, r, kind, reason); err != nil {
					return err
				}
				continue
			}
			if taken, err := c.leaseSuspect(w, r); err != nil || taken {
				return err
			}
		}
		if gone == 0 || len(rows) < suspectsLooked || len(c.claim.Quarantined) >= quarantinesAtOnce {
			return nil
		}
	}
}

// leaseSuspect takes r unless another of its key is still in flight. Whoever
// held r and the run behind it is fenced off.
func (c *claiming) leaseSuspect(w outbox.Want, r candidate) (bool, error) {
	if r.OrderingKey != nil {
		leased, err := c.q.RunLeased(background, sqlitedb.RunLeasedParams{Destination: w.Destination, OrderingKey: r.OrderingKey, Now: c.now})
		if err != nil || leased {
			return false, err
		}
		if _, err := c.q.ReleaseRun(background, sqlitedb.ReleaseRunParams{Now: c.now, Destination: w.Destination, OrderingKey: r.OrderingKey}); err != nil {
			return false, err
		}
	}
	n, err := c.q.LeaseSuspect(background, sqlitedb.LeaseSuspectParams{
		LeaseToken: -c.token, LeaseEnd: later(c.now, w.Lease), Now: c.now, Seq: r.Seq, Destination: w.Destination,
	})
	if err != nil {
		return false, err
	}
	if n != 1 {
		return false, fmt.Errorf("suspect %d was not leased", r.Seq)
	}
	r.CrashCount++
	c.add(w.Destination, r, -c.token)
	return true, nil
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
