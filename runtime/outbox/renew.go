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
				runs, late := l.expiring(now)
				for _, o := range late {
					l.reportOverdue(o)
				}
				if len(runs) > 0 {
					d.renewRuns(ctx, l, runs)
				}
			}
		}
	}
}

// renewInterval leaves every lease several chances to be renewed in time.
func (d *Dispatcher) renewInterval() time.Duration {
	interval := longWait
	for _, l := range d.lanes {
		interval = min(interval, l.margin()/4)
	}
	return max(interval, time.Millisecond)
}

// margin is how much longer than an attempt a lease is.
func (l *lane) margin() time.Duration { return l.lease - l.dest.Timeout }

// expiring lists the runs, waiting or under way, whose leases would soon not
// cover an attempt any more, and the attempts to report as overdue. What has
// waited for too long is given back instead.
func (l *lane) expiring(now time.Time) (runs []*run, late []overdue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveBackWaiting(now)
	limit := now.Add(l.dest.Timeout + l.margin()/2)
	add := func(r *run) {
		if len(r.members) > 0 && r.leaseEnd.Before(limit) && !r.lost {
			runs = append(runs, r)
		}
	}
	for _, r := range l.queue.all() {
		add(r)
	}
	for _, w := range l.crew {
		if w.run == nil || len(w.run.members) == 0 {
			continue
		}
		add(w.run)
		if !w.deadline.IsZero() && now.Sub(w.deadline) > overdueGrace && now.Sub(w.reported) > overdueEvery {
			w.reported = now
			late = append(late, overdue{w.run.members[0], now.Sub(w.started)})
		}
	}
	return runs, late
}

// overdue is an attempt whose sender ignores its context.
type overdue struct {
	delivery *Delivery
	running  time.Duration
}

func (l *lane) reportOverdue(o overdue) {
	l.count.overdue.Add(1)
	l.d.logDelivery(o.delivery).Warn("attempt runs past its deadline: its handler ignores its context, and keeps its place in flight and its lease",
		"running_seconds", o.running.Seconds(), "timeout_seconds", l.dest.Timeout.Seconds())
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
	var report []lostLease
	l.mu.Lock()
	for _, r := range runs {
		report = l.renewed(report, r, gone, start.Add(l.lease))
	}
	l.mu.Unlock()
	for _, x := range report {
		d.logDelivery(x.delivery).Warn("lease lost: another worker has the delivery", "attempt_cancelled", x.cancelled)
	}
}

type lostLease struct {
	delivery  *Delivery
	cancelled bool
}

// renewed notes a renewal's answer and appends what was lost; mu is held. A
// run that lost a lease starts no attempt any more, and the attempt of the
// lost one is cancelled: another process makes it.
func (l *lane) renewed(report []lostLease, r *run, gone map[Lease]bool, leaseEnd time.Time) []lostLease {
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
		report = append(report, lostLease{m, underWay})
	}
	if !r.lost {
		r.leaseEnd = leaseEnd
	}
	return report
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
