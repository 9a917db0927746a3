package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Dispatcher delivers a store's events to destinations: see the package
// documentation for its promises. Make one with NewDispatcher and Run it once.
type Dispatcher struct {
	store Store
	cfg   Config
	log   *slog.Logger
	lanes []*lane

	settler  *settler
	suspects suspects
	poke     chan struct{} // holds one signal: a lane may have room again
	random   func() float64

	ran     atomic.Bool
	workers sync.WaitGroup
	// attempts is the parent of every attempt's context: it outlives Run's by
	// the shutdown timeout.
	attempts context.Context

	claims, renewals, purged atomic.Int64
}

// NewDispatcher makes a dispatcher. Its error lists every fault of cfg and of
// the destinations at once.
func NewDispatcher(store Store, dests []Destination, cfg Config) (*Dispatcher, error) {
	var faults []error
	if store == nil {
		faults = append(faults, errors.New("the store is nil"))
	}
	if err := cfg.validate(); err != nil {
		faults = append(faults, err)
	}
	cfg = cfg.withDefaults()
	d := &Dispatcher{
		store:  store,
		cfg:    cfg,
		log:    cfg.Logger,
		poke:   make(chan struct{}, 1),
		random: rand.Float64,
	}
	d.settler = newSettler(d)
	seen := make(map[string]bool, len(dests))
	for i, dest := range dests {
		dest = dest.withDefaults()
		if err := dest.validate(); err != nil {
			faults = append(faults, fmt.Errorf("destination %d %q: %w", i, dest.Name, err))
			continue
		}
		if seen[dest.Name] {
			faults = append(faults, fmt.Errorf("destination %d %q: its name is taken by an earlier one", i, dest.Name))
		}
		seen[dest.Name] = true
		if cfg.Lease > 0 && cfg.Lease <= dest.Timeout {
			faults = append(faults, fmt.Errorf("destination %d %q: the lease of %v must exceed its timeout of %v, or an attempt could outlive its lease", i, dest.Name, cfg.Lease, dest.Timeout))
		}
		d.lanes = append(d.lanes, newLane(d, dest))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("outbox: dispatcher: %w", err)
	}
	return d, nil
}

// Run delivers until ctx ends and then shuts down: it claims nothing more,
// gives its buffers back, lets attempts that are under way finish for
// Config.ShutdownTimeout and then cancels their contexts, records every
// outcome, and returns when everything it started has stopped. A handler that
// ignores its context is waited for, and said so in the log.
//
// It answers nil after a clean shutdown, an error when it could not start, or
// when outcomes could not be recorded (their events will be delivered again).
// A Dispatcher runs once.
func (d *Dispatcher) Run(ctx context.Context) error {
	if !d.ran.CompareAndSwap(false, true) {
		return ErrRunning
	}
	mended, err := d.store.Mend(ctx)
	if err != nil {
		return startError(ctx, "mend stranded keys", err)
	}
	if mended > 0 {
		d.log.Warn("gave the turn back to ordering keys that had lost it", "keys", mended)
	}
	watching, stopWatching := context.WithCancel(ctx)
	signals, err := d.store.Watch(watching)
	if err != nil {
		stopWatching()
		return startError(ctx, "watch the store", err)
	}

	steady := context.WithoutCancel(ctx) // what must go on during shutdown
	attempts, cancelAttempts := context.WithCancelCause(steady)
	d.attempts = attempts

	var chores, support sync.WaitGroup
	chores.Go(func() { d.purge(ctx) })
	chores.Go(func() { d.reportOrphans(ctx) })
	support.Go(func() { d.settler.run(steady) })
	renewing, stopRenewing := context.WithCancel(steady)
	support.Go(func() { d.renewLeases(renewing) })

	d.claimUntil(ctx, signals)

	for _, l := range d.lanes {
		l.close()
	}
	d.awaitWorkers(cancelAttempts)
	for _, l := range d.lanes {
		if err := l.dest.close(); err != nil {
			d.log.Warn("close the destination's sender", "destination", l.dest.Name, "error", err)
		}
	}
	chores.Wait()
	stopWatching()
	for range signals {
		// The store closes the channel when its watch has stopped.
	}
	stopRenewing()
	d.settler.close(d.cfg.ShutdownTimeout)
	support.Wait()
	return d.settler.unrecorded()
}

// startError is nil when the caller only changed its mind.
func startError(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("outbox: dispatcher: %s: %w", what, err)
}

// awaitWorkers returns when no attempt is under way any more.
func (d *Dispatcher) awaitWorkers(cancelAttempts context.CancelCauseFunc) {
	stopped := make(chan struct{})
	go func() {
		d.workers.Wait()
		close(stopped)
	}()
	timer := time.NewTimer(d.cfg.ShutdownTimeout)
	defer timer.Stop()
	select {
	case <-stopped:
	case <-timer.C:
		d.log.Warn("shutdown timeout is over: cancelling the attempts under way", "timeout_seconds", d.cfg.ShutdownTimeout.Seconds())
	}
	cancelAttempts(ErrShutdown)
	<-stopped
}

// pokeClaimer tells the claim loop that a lane may have room again.
func (d *Dispatcher) pokeClaimer() {
	select {
	case d.poke <- struct{}{}:
	default:
	}
}
