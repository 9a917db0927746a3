package outbox

import (
	"context"
	"errors"
	"time"
)

// overdueGrace is how far past its deadline an attempt must be to be reported.
const overdueGrace = time.Second

// overdueEvery spaces further reports of one attempt.
const overdueEvery = time.Minute

// renewLeases keeps what this process has claimed leased, until ctx ends.
func (d *Dispatcher) renewLeases(ctx context.Context) {
	if len(d.lanes) == 0 {
		return
	}
	tick := time.NewTicker(d.renewInterval())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, l := range d.lanes {
				if runs := l.expiring(now); len(runs) > 0 {
					d.renewRuns(ctx, l, runs)
				}
			}
		}
	}
}

// renewInterval leaves every lease several chances to be renewed in time.
func (d *Dispatcher) renewInterval() time.Duration {
	interval := 5 * time.Second
	for _, l := range d.lanes {
		interval = min(interval, l.margin()/4)
	}
	return max(interval, time.Millisecond)
}

// margin is how much longer than an attempt a lease is.
func (l *lane) margin() time.Duration { return l.lease - l.dest.Timeout }

// expiring lists the runs, waiting or under way, whose leases would soon not
// cover an attempt any more, and reports attempts that ignore their deadline.
func (l *lane) expiring(now time.Time) []*run {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := now.Add(l.dest.Timeout + l.margin()/2)
	var runs []*run
	add := func(r *run) {
		if len(r.members) > 0 && r.leaseEnd.Before(limit) && !r.lost {
			runs = append(runs, r)
		}
	}
	for _, r := range l.queue.all() {
		add(r)
	}
	for _, w := range l.crew {
		if w.run == nil {
			continue
		}
		add(w.run)
		if !w.deadline.IsZero() && now.Sub(w.deadline) > overdueGrace && now.Sub(w.reported) > overdueEvery && len(w.run.members) > 0 {
			w.reported = now
			l.count.overdue.Add(1)
			l.d.logDelivery(w.run.members[0]).Warn("attempt runs past its deadline: the handler ignores its context, keeps its place in flight and its lease",
				"running_seconds", now.Sub(w.started).Seconds(), "timeout_seconds", l.dest.Timeout.Seconds())
		}
	}
	return runs
}

// renewRuns renews the leases of all members of runs of l. A store that is
// busy is asked again at the next tick.
func (d *Dispatcher) renewRuns(ctx context.Context, l *lane, runs []*run) {
	var leases []Lease
	l.mu.Lock()
	for _, r := range runs {
		for _, m := range r.members {
			leases = append(leases, m.Lease)
		}
	}
	l.mu.Unlock()
	if len(leases) == 0 {
		return
	}
	start := time.Now()
	lost, err := d.store.Renew(ctx, leases, l.lease)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			d.log.Error("could not renew leases: trying again", "destination", l.dest.Name, "leases", len(leases), "error", err)
		}
		return
	}
	gone := make(map[Lease]bool)
	for i, lease := range leases {
		if i < len(lost) && lost[i] {
			gone[lease] = true
		}
	}
	d.renewals.Add(int64(len(leases) - len(gone)))
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range runs {
		l.renewed(r, gone, start.Add(l.lease))
	}
}

// renewed notes a renewal's answer; mu is held. A lost lease does not start an
// attempt any more, and cancels one that is under way: another process makes it.
func (l *lane) renewed(r *run, gone map[Lease]bool, leaseEnd time.Time) {
	for i, m := range r.members {
		if !gone[m.Lease] {
			continue
		}
		r.lost = true
		w := l.workerOf(r)
		underWay := w != nil && i == 0 && !w.deadline.IsZero()
		if underWay {
			w.cancel(ErrLeaseLost)
			w.stale = true
		}
		l.d.logDelivery(m).Warn("lease lost: another worker has the delivery", "attempt_cancelled", underWay)
	}
	if !r.lost {
		r.leaseEnd = leaseEnd
	}
}

// workerOf is the worker that has r, or nil; mu is held.
func (l *lane) workerOf(r *run) *worker {
	for _, w := range l.crew {
		if w.run == r {
			return w
		}
	}
	return nil
}
