package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

var openers = []opener{
	{"floor", openFloor},
	{"outboxgen", openOurs},
	{"river", openRiver},
	{"goqite", openGoqite},
	{"backlite", openBacklite},
}

// inDir runs fn in a new folder on the disk that holds temporary files.
func inDir(fn func(dir string) error) error {
	dir, err := os.MkdirTemp("", "outboxgen-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return fn(dir)
}

// onEach opens one subject after another, so that every round has each.
func onEach(ctx context.Context, rounds int, all []opener, fn func(o opener, s subject) error) error {
	for range rounds {
		for _, o := range all {
			err := inDir(func(dir string) error {
				s, err := o.open(ctx, dir)
				if err != nil {
					return fmt.Errorf("open %s: %w", o.name, err)
				}
				defer s.close()
				if err := fn(o, s); err != nil {
					return fmt.Errorf("%s: %w", o.name, err)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func measureEnqueue(ctx context.Context, r *report) error {
	const n = 3000
	rates := map[string][]float64{}
	err := onEach(ctx, *rounds+2, openers, func(o opener, s subject) error {
		if err := s.enqueue(ctx, 200); err != nil { // warm
			return err
		}
		started := time.Now()
		if err := s.enqueue(ctx, n); err != nil {
			return err
		}
		rates[o.name] = append(rates[o.name], n/time.Since(started).Seconds())
		return nil
	})
	if err != nil {
		return err
	}
	mid := r.rates("enqueue, one business row and one event a transaction", rates)
	r.atLeast("enqueue: of the floor", mid["outboxgen"]/mid["floor"], 0.75)
	r.atLeast("enqueue: of River", mid["outboxgen"]/mid["river"], 4)
	r.atLeast("enqueue: of goqite", mid["outboxgen"]/mid["goqite"], 1)
	return nil
}

// rates reports and returns the medians, in the order of openers.
func (r *report) rates(what string, rates map[string][]float64) map[string]float64 {
	mid := map[string]float64{}
	for _, o := range openers {
		if got := rates[o.name]; got != nil {
			mid[o.name] = median(got)
			r.rate(what, o.name, mid[o.name])
		}
	}
	return mid
}

// drain starts s, waits until n are handled and nothing waits, and returns
// the rate.
func drain(ctx context.Context, s subject, workers, n int) (float64, error) {
	var handled atomic.Int64
	all := make(chan struct{})
	started := time.Now()
	stop, err := s.start(ctx, workers, func([]byte) {
		if handled.Add(1) == int64(n) {
			close(all)
		}
	})
	if err != nil {
		return 0, err
	}
	select {
	case <-all:
	case <-ctx.Done():
		return 0, fmt.Errorf("%d of %d handled: %w", handled.Load(), n, ctx.Err())
	}
	for {
		left, err := s.waiting(ctx)
		if err != nil {
			return 0, err
		}
		if left == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	rate := float64(n) / time.Since(started).Seconds()
	return rate, stop()
}

func measureDrain(ctx context.Context, r *report) error {
	const n = 20_000
	rates := map[string][]float64{}
	one := func(o opener, s subject) error {
		if err := s.enqueue(ctx, n); err != nil {
			return err
		}
		rate, err := drain(ctx, s, 100, n)
		rates[o.name] = append(rates[o.name], rate)
		return err
	}
	if err := onEach(ctx, *rounds+2, openers[:2], one); err != nil {
		return err
	}
	if err := onEach(ctx, 1, openers[2:], one); err != nil {
		return err
	}
	mid := r.rates("drain 20,000 to a no-op handler", rates)
	r.atLeast("drain: of the floor", mid["outboxgen"]/mid["floor"], 0.70)
	r.atLeast("drain: of River", mid["outboxgen"]/mid["river"], 20)
	r.atLeast("drain: of goqite", mid["outboxgen"]/mid["goqite"], 5)
	return nil
}

// drainOurs drains ours n events at a time with fill's insert and reports the
// median rate.
func drainOurs(ctx context.Context, rounds, n int, prepare func(s *ours) error) (float64, error) {
	var rates []float64
	err := onEach(ctx, rounds, openers[1:2], func(_ opener, s subject) error {
		o := s.(*ours)
		if err := prepare(o); err != nil {
			return err
		}
		rate, err := drain(ctx, o, 0, n)
		rates = append(rates, rate)
		return err
	})
	if err != nil {
		return 0, err
	}
	return median(rates), nil
}

func measureHotKey(ctx context.Context, r *report) error {
	const n = 20_000
	free, err := drainOurs(ctx, *rounds, n, func(s *ours) error { return s.fill(ctx, n, s.placed) })
	if err != nil {
		return err
	}
	hot, err := drainOurs(ctx, *rounds, n, func(s *ours) error { return s.fill(ctx, n, s.moved) })
	if err != nil {
		return err
	}
	r.rate("drain 20,000 of one ordering key", "outboxgen", hot)
	r.atLeast("one hot ordering key: of unordered", hot/free, 0.30)
	return nil
}

func measureIsolation(ctx context.Context, r *report) error {
	const n = 20_000
	alone, err := drainOurs(ctx, *rounds, n, func(s *ours) error { return s.fill(ctx, n, s.placed) })
	if err != nil {
		return err
	}
	beside, err := drainOurs(ctx, *rounds, n, func(s *ours) error {
		s.config.ShutdownTimeout = time.Millisecond
		if err := s.fill(ctx, 1000, s.stuck); err != nil {
			return err
		}
		return s.fill(ctx, n, s.placed)
	})
	if err != nil {
		return err
	}
	r.rate("drain 20,000 beside a hanging destination", "outboxgen", beside)
	r.atLeast("beside a hanging destination: of alone", beside/alone, 0.90)
	return nil
}
