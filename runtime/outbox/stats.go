package outbox

import "sync/atomic"

// Stats is a snapshot of a dispatcher's counters since it was made. The
// counters are read one by one, without locks: they may be a moment apart.
type Stats struct {
	Claims   int64 // claim transactions that succeeded
	Settles  int64 // settle transactions that succeeded
	Renewals int64 // leases renewed
	Purged   int64 // events removed after the retention
	// Destinations are in the order of NewDispatcher's.
	Destinations []DestinationStats
}

// DestinationStats counts what has been recorded of one destination.
type DestinationStats struct {
	Destination string
	Claimed     int64 // deliveries leased
	Delivered   int64 // published
	Failed      int64 // attempts spent, dead letters included
	DeadLetters int64 // dead letters made, whatever the kind
	GivenBack   int64 // leases given back without an attempt spent
	LostLeases  int64 // outcomes that changed nothing: another worker had the lease
	Panics      int64 // attempts that panicked or ended their goroutine
	Overdue     int64 // reports of attempts that ran past their deadline
	InFlight    int64 // attempts under way now
	Buffered    int64 // deliveries claimed and waiting now
}

type counters struct {
	claimed, delivered, failed, dead, givenBack, lost, panics, overdue atomic.Int64
	inFlight, buffered                                                 atomic.Int64
}

func (c *counters) snapshot(destination string) DestinationStats {
	return DestinationStats{
		Destination: destination,
		Claimed:     c.claimed.Load(),
		Delivered:   c.delivered.Load(),
		Failed:      c.failed.Load(),
		DeadLetters: c.dead.Load(),
		GivenBack:   c.givenBack.Load(),
		LostLeases:  c.lost.Load(),
		Panics:      c.panics.Load(),
		Overdue:     c.overdue.Load(),
		InFlight:    c.inFlight.Load(),
		Buffered:    c.buffered.Load(),
	}
}

// Stats reads the counters; it may be called at any time.
func (d *Dispatcher) Stats() Stats {
	s := Stats{
		Claims:       d.claims.Load(),
		Settles:      d.settler.settles.Load(),
		Renewals:     d.renewals.Load(),
		Purged:       d.purged.Load(),
		Destinations: make([]DestinationStats, len(d.lanes)),
	}
	for i, l := range d.lanes {
		s.Destinations[i] = l.count.snapshot(l.dest.Name)
	}
	return s
}
