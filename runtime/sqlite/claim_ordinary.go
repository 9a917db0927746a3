package sqlite

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

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
