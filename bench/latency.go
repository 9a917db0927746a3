package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	samples    = 300
	sampleRest = 5 * time.Millisecond // longer than any of them takes to fall idle
)

// measureLatency measures from COMMIT's return to the handler, idle.
func measureLatency(ctx context.Context, r *report) error {
	p50, p99 := map[string]time.Duration{}, map[string]time.Duration{}
	err := onEach(ctx, 1, openers, func(o opener, s subject) error {
		n := samples
		if o.name == "goqite" || o.name == "river" {
			n = 100 // they poll
		}
		got, err := commitToHandler(ctx, s, n, func(id int) (time.Time, error) {
			err := s.enqueueOne(ctx, id)
			return time.Now(), err
		})
		if err != nil {
			return err
		}
		p50[o.name], p99[o.name] = percentile(got, 0.50), percentile(got, 0.99)
		r.duration("idle latency p50", o.name, p50[o.name])
		r.duration("idle latency p99", o.name, p99[o.name])
		return nil
	})
	if err != nil {
		return err
	}
	foreign, err := otherProcess(ctx)
	if err != nil {
		return err
	}
	r.duration("idle latency p50, committed by another process", "outboxgen", percentile(foreign, 0.50))
	r.duration("idle latency p99, committed by another process", "outboxgen", percentile(foreign, 0.99))
	r.atMost("idle latency, same process, p50: of the floor's", ratio(p50["outboxgen"], p50["floor"]), 1.5)
	r.atMost("idle latency, same process, p99: of backlite's", ratio(p99["outboxgen"], p99["backlite"]), 1)
	r.atMost("idle latency, another process, p50: of the same process's", ratio(percentile(foreign, 0.50), p50["outboxgen"]), 3)
	return nil
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// commitToHandler commits n events, one after another, and takes the time from
// each commit's return to its handler. A handler that runs before the commit
// has returned took no time.
func commitToHandler(ctx context.Context, s subject, n int, commit func(id int) (time.Time, error)) ([]time.Duration, error) {
	arrived := make(chan time.Time, 1)
	stop, err := s.start(ctx, 16, func([]byte) { arrived <- time.Now() })
	if err != nil {
		return nil, err
	}
	var got []time.Duration
	for range n {
		time.Sleep(sampleRest)
		nextID++
		committed, err := commit(nextID)
		if err != nil {
			return nil, err
		}
		select {
		case at := <-arrived:
			got = append(got, max(0, at.Sub(committed)))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return got, stop()
}

// childPrefix marks the arguments of this program's own child processes.
const childPrefix = "child-"

func runChild(name string, args []string) error {
	switch name {
	case childPrefix + "commit":
		return commitOnDemand(args[0])
	case childPrefix + "drain":
		return drainAndWeigh(args[0], args[1])
	}
	return fmt.Errorf("unknown child %s", name)
}

// commitOnDemand commits an event for each line it reads and answers with the
// monotonic time at which COMMIT had returned.
func commitOnDemand(path string) error {
	ctx := context.Background()
	s, err := openOursAt(ctx, path)
	if err != nil {
		return err
	}
	defer s.close()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		id, err := strconv.Atoi(lines.Text())
		if err != nil {
			return err
		}
		if err := s.enqueueOne(ctx, id); err != nil {
			return err
		}
		fmt.Println(time.Now().UnixNano())
	}
	return lines.Err()
}

func otherProcess(ctx context.Context) (got []time.Duration, err error) {
	err = inDir(func(dir string) error {
		path := filepath.Join(dir, "ours.db")
		s, err := openOursAt(ctx, path)
		if err != nil {
			return err
		}
		defer s.close()
		child := exec.CommandContext(ctx, os.Args[0], childPrefix+"commit", path)
		child.Stderr = os.Stderr
		in, err := child.StdinPipe()
		if err != nil {
			return err
		}
		out, err := child.StdoutPipe()
		if err != nil {
			return err
		}
		if err := child.Start(); err != nil {
			return err
		}
		answers := bufio.NewScanner(out)
		got, err = commitToHandler(ctx, s, samples, func(id int) (time.Time, error) {
			fmt.Fprintln(in, id)
			if !answers.Scan() {
				return time.Time{}, fmt.Errorf("the committing process ended: %w", answers.Err())
			}
			nanos, err := strconv.ParseInt(strings.TrimSpace(answers.Text()), 10, 64)
			return time.Unix(0, nanos), err
		})
		in.Close()
		if waitErr := child.Wait(); err == nil {
			err = waitErr
		}
		return err
	})
	return got, err
}

// measureIdle measures the processor time of a dispatcher with nothing to do.
func measureIdle(ctx context.Context, r *report) error {
	return onEach(ctx, 1, openers[1:2], func(_ opener, s subject) error {
		stop, err := s.start(ctx, 0, func([]byte) {})
		if err != nil {
			return err
		}
		const idle = 10 * time.Second
		time.Sleep(time.Second) // past its start
		before := processorTime()
		time.Sleep(idle)
		share := 100 * ratio(processorTime()-before, idle)
		r.value("idle processor time, of one core", "outboxgen", "%.3f %%", share)
		r.atMost("idle processor time, % of a core", share, 0.3)
		return stop()
	})
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
