package outbox

import (
	"context"
	"time"
)

const (
	orphansEvery = 5 * time.Minute
	// orphanAge is how long a delivery of a destination that this process does
	// not know must have waited to be reported: another process's dispatcher
	// takes its own sooner.
	orphanAge = time.Minute
)

// reportOrphans tells, at start and from time to time, of deliveries that no
// running dispatcher takes: their destination was renamed or removed.
func (d *Dispatcher) reportOrphans(ctx context.Context) {
	known := make(map[string]bool, len(d.lanes))
	for _, l := range d.lanes {
		known[l.dest.Name] = true
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		states, err := d.store.Destinations(ctx)
		if err != nil && ctx.Err() == nil {
			d.log.Warn("could not look for deliveries of unknown destinations", "error", err)
		}
		for _, s := range states {
			if !known[s.Destination] && s.Pending+s.Processing > 0 && s.OldestDue >= orphanAge {
				d.log.Warn("deliveries wait for a destination that no running dispatcher seems to know: run one that does, or move or discard them",
					"destination", s.Destination, "pending", s.Pending, "waiting_seconds", s.OldestDue.Seconds())
			}
		}
		timer.Reset(orphansEvery)
	}
}
