package redisbreaker_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/redisbreaker"
)

// dispatcher is what runtime/outbox asks of a breaker.
type dispatcher interface {
	Room() int
	TryAcquire() (breaker.Permit, error)
	State() breaker.State
	RetryIn() time.Duration
}

var _ dispatcher = (*redisbreaker.Breaker)(nil)

func TestProcesses_OneCallAtTheTripEdge(t *testing.T) {
	f := newFleet(t)
	all := f.processes(4, childConfig{Threshold: 3, RecoveryTime: time.Hour, LeaseIs: time.Minute})
	for _, p := range all[:2] { // two failures, in two processes
		if a, _ := crowd(t, []*process{p}, 1); a != 1 {
			t.Fatal("refused with no failure counted")
		}
		p.ask("done failure")
	}
	if admitted, refused := crowd(t, all, 25); admitted != 1 || refused != 99 {
		t.Fatalf("%d calls ran and %d were refused, want 1 and 99", admitted, refused)
	}
	for _, p := range all {
		p.ask("done failure")
	}
	if state := f.hash()["state"]; state != "open" {
		t.Fatalf("state %q after three failures", state)
	}
	if admitted, _ := crowd(t, all, 25); admitted != 0 {
		t.Fatalf("%d calls ran in OPEN", admitted)
	}
	for _, p := range all { // each hears of it when it asks next
		for p.ask("state") != "OPEN" {
			if a, _ := crowd(t, []*process{p}, 1); a != 0 {
				t.Fatal("a call ran in OPEN")
			}
		}
	}
}

func TestProcesses_ExactlyTwoProbes(t *testing.T) {
	f := newFleet(t)
	all := f.processes(4, childConfig{Threshold: 1, RecoveryTime: time.Millisecond, LeaseIs: time.Minute})
	crowd(t, all[:1], 1)
	all[0].ask("done failure")
	for _, outcome := range []string{"failure", "failure", "success"} {
		admitted, rounds := 0, 0
		for last := false; !last; rounds++ { // the recovery time ends somewhere among them
			last = admitted >= 2 // one more, while the probes are held
			a, r := crowd(t, all, 25)
			if admitted += a; a+r != 100 {
				t.Fatalf("%d of 100 calls answered", a+r)
			}
		}
		if admitted != 2 {
			t.Fatalf("%d probes ran of %d calls, want 2", admitted, 100*rounds)
		}
		for _, p := range all {
			p.ask("done " + outcome)
		}
	}
	if state := f.hash()["state"]; state != "closed" {
		t.Fatalf("state %q after two good probes", state)
	}
	for _, p := range all { // each hears of it with its next call, if not before
		for {
			if a, _ := crowd(t, []*process{p}, 1); a == 1 {
				break
			}
		}
		if s := p.ask("state"); s != "CLOSED" {
			t.Errorf("a process says %s", s)
		}
	}
}

func TestProcesses_KilledOwnerOfAProbe(t *testing.T) {
	f := newFleet(t)
	c := childConfig{Threshold: 1, RecoveryTime: time.Millisecond, LeaseIs: time.Hour}
	victim, other := f.process(c), f.process(c)
	crowd(t, []*process{victim}, 1)
	victim.ask("done failure")
	for admitted := 0; admitted < 2; {
		a, _ := crowd(t, []*process{victim}, 10)
		admitted += a
	}
	victim.kill()
	if a, _ := crowd(t, []*process{other}, 10); a != 0 {
		t.Fatalf("%d probes beside the dead process's leases", a)
	}
	f.age(time.Hour)
	admitted := 0
	for last := false; !last; { // its own hold-off ends
		last = admitted >= 2
		a, _ := crowd(t, []*process{other}, 10)
		admitted += a
	}
	if admitted != 2 {
		t.Fatalf("%d probes after the leases ended, want 2", admitted)
	}
	other.ask("done success")
	if state := f.hash()["state"]; state != "closed" {
		t.Fatalf("state %q", state)
	}
}

func TestScripts_LoseNoFailure(t *testing.T) {
	f := newFleet(t)
	const members, each = 10, 100
	var wg sync.WaitGroup
	for _, b := range f.members(members, breaker.Config{FailureThreshold: 2 * members * each}) {
		wg.Go(func() { report(t, b, breaker.Failure, each) })
	}
	wg.Wait()
	if n := f.hash()["failures"]; n != strconv.Itoa(members*each) {
		t.Fatalf("%s failures counted, want %d", n, members*each)
	}
}

func TestFleet_CountsTogether(t *testing.T) {
	f := newFleet(t)
	all := f.members(3, breaker.Config{RecoveryTime: time.Hour})
	report(t, all[0], breaker.Failure, 1)
	report(t, all[1], breaker.Failure, 1)
	report(t, all[2], breaker.Success, 1) // in a row means in the fleet
	report(t, all[0], breaker.Failure, 1)
	report(t, all[1], breaker.Failure, 1)
	if state := f.hash()["state"]; state != "closed" {
		t.Fatalf("state %q after two failures in a row", state)
	}
	report(t, all[2], breaker.Failure, 1)
	if state := f.hash()["state"]; state != "open" {
		t.Fatalf("state %q after three failures in a row", state)
	}
	for i, b := range all {
		_, err := b.TryAcquire()
		open, ok := errors.AsType[*breaker.OpenError](err)
		if !ok || open.Reason != breaker.ReasonOpen || open.Remaining() <= 59*time.Minute || open.Name != "billing" {
			t.Fatalf("member %d: %v", i, err)
		}
		if b.State() != breaker.Open || b.Room() != 0 || b.RetryIn() <= 59*time.Minute {
			t.Errorf("member %d: %v, room %d, retry in %v", i, b.State(), b.Room(), b.RetryIn())
		}
	}
}

// A recovery that one process sees closes the breakers of all.
func TestFleet_RecoversTogether(t *testing.T) {
	f := newFleet(t)
	clock := new(atomic.Int64)
	all := f.members(2, breaker.Config{FailureThreshold: 1, RecoveryTime: time.Hour,
		Now: func() time.Duration { return time.Duration(clock.Load()) }})
	report(t, all[0], breaker.Failure, 1)
	if _, err := all[1].TryAcquire(); !errors.Is(err, breaker.ErrOpen) {
		t.Fatalf("member 1: %v", err)
	}
	f.age(time.Hour)
	clock.Add(int64(2 * time.Hour))
	report(t, all[0], breaker.Success, 2)
	if s := all[0].State(); s != breaker.Closed {
		t.Fatalf("member 0: %v", s)
	}
	report(t, all[1], breaker.Success, 1)
	if s := all[1].State(); s != breaker.Closed || all[1].Room() != math.MaxInt {
		t.Fatalf("member 1: %v, room %d", s, all[1].Room())
	}
}

func TestFleet_WaitsForTheVerdict(t *testing.T) {
	f := newFleet(t)
	all := f.members(2, breaker.Config{RecoveryTime: time.Hour})
	report(t, all[0], breaker.Failure, 2)
	p := acquire(t, all[0])
	wantSuspect(t, all[1])
	p.Done(breaker.Success)
	if _, err := all[1].Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wantSuspect(t *testing.T, b *redisbreaker.Breaker) {
	t.Helper()
	_, err := b.TryAcquire()
	if open, ok := errors.AsType[*breaker.OpenError](err); !ok || open.Reason != breaker.ReasonSuspect {
		t.Fatalf("TryAcquire: %v, want a suspect's refusal", err)
	}
}

// A process that the fleet had no slot for says so for a moment without
// asking again, unless it gives a slot back itself.
func TestFleet_HoldsOffAfterARefusal(t *testing.T) {
	f := newFleet(t)
	clock := new(atomic.Int64)
	all := f.members(2, breaker.Config{FailureThreshold: 4, Now: func() time.Duration { return time.Duration(clock.Load()) }})
	report(t, all[0], breaker.Failure, 2)
	p, q := acquire(t, all[0]), acquire(t, all[1])
	wantSuspect(t, all[1])
	if room, in := all[1].Room(), all[1].RetryIn(); room != 0 || in < 25*time.Millisecond || in > 50*time.Millisecond {
		t.Fatalf("room %d, retry in %v", room, in)
	}
	p.Done(breaker.Neutral)
	wantSuspect(t, all[1]) // although there is room
	clock.Add(int64(50 * time.Millisecond))
	if all[1].Room() == 0 || all[1].RetryIn() != 0 {
		t.Fatalf("room %d, retry in %v after the hold-off", all[1].Room(), all[1].RetryIn())
	}
	acquire(t, all[1])
	wantSuspect(t, all[1])
	q.Done(breaker.Neutral)
	acquire(t, all[1])
}

// A success is reported when the process has heard of a failure since.
func TestFleet_SuccessForgetsAKnownFailure(t *testing.T) {
	f := newFleet(t)
	b := f.member(redisbreaker.Config{})
	p := acquire(t, b)
	report(t, b, breaker.Failure, 1)
	p.Done(breaker.Success)
	if n := f.hash()["failures"]; n != "0" {
		t.Fatalf("%s failures after a success", n)
	}
}

func TestFleet_WaitEndsWithContext(t *testing.T) {
	f := newFleet(t)
	all := f.members(2, breaker.Config{})
	report(t, all[0], breaker.Failure, 2)
	acquire(t, all[0])
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := all[1].Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Acquire: %v", err)
	}
}

func TestFleet_LateResultsChangeNothing(t *testing.T) {
	f := newFleet(t)
	clock := new(atomic.Int64)
	all := f.members(2, breaker.Config{RecoveryTime: time.Hour, MaxRecoveryTime: time.Hour,
		Now: func() time.Duration { return time.Duration(clock.Load()) }})
	old := acquire(t, all[1])
	report(t, all[0], breaker.Failure, 3)
	before := f.hash()
	old.Done(breaker.Failure) // in OPEN
	same := func() {
		t.Helper()
		if after := f.hash(); len(after) != len(before) || after["failures"] != before["failures"] ||
			after["state"] != before["state"] || after["open_until"] != before["open_until"] || after["successes"] != before["successes"] {
			t.Fatalf("%v became %v", before, after)
		}
	}
	same()
	f.age(time.Hour)
	clock.Add(int64(2 * time.Hour))
	probe := acquire(t, all[0])
	report(t, all[0], breaker.Failure, 1)
	f.age(time.Hour)
	clock.Add(int64(2 * time.Hour))
	next := acquire(t, all[0])
	before = f.hash()
	probe.Done(breaker.Success) // of the earlier HALF_OPEN
	same()
	next.Done(breaker.Success)
	report(t, all[0], breaker.Success, 1)
	if state := f.hash()["state"]; state != "closed" {
		t.Fatalf("state %q", state)
	}
}

func TestFleet_HungProbeLosesItsSlot(t *testing.T) {
	f := newFleet(t)
	clock := new(atomic.Int64)
	all := f.members(2, breaker.Config{FailureThreshold: 1, HalfOpenMaxCalls: 1, RecoveryTime: time.Minute, Lease: time.Hour,
		Now: func() time.Duration { return time.Duration(clock.Load()) }})
	report(t, all[0], breaker.Failure, 1)
	f.age(time.Minute)
	clock.Add(int64(time.Minute))
	hung := acquire(t, all[0])
	f.age(time.Hour)
	clock.Add(int64(time.Hour))
	p := acquire(t, all[1])
	before := f.hash()
	hung.Done(breaker.Failure)
	if after := f.hash(); after["state"] != "half_open" || len(after) != len(before) {
		t.Fatalf("%v became %v", before, after)
	}
	p.Done(breaker.Success)
	if state := f.hash()["state"]; state != "closed" {
		t.Fatalf("state %q", state)
	}
}

// Clocks that are an hour off, either way, change nothing.
func TestFleet_WrongClocks(t *testing.T) {
	f := newFleet(t)
	var all []*redisbreaker.Breaker
	for _, off := range []time.Duration{-time.Hour, 0, time.Hour} {
		start := time.Now()
		all = append(all, f.member(redisbreaker.Config{Breaker: breaker.Config{RecoveryTime: 10 * time.Minute,
			Now: func() time.Duration { return off + time.Since(start) }}}))
	}
	for _, b := range all {
		report(t, b, breaker.Failure, 1)
	}
	for i, b := range all {
		_, err := b.TryAcquire()
		open, ok := errors.AsType[*breaker.OpenError](err)
		if !ok || open.Remaining() <= 9*time.Minute || open.Remaining() > 10*time.Minute {
			t.Errorf("member %d: %v", i, err)
		}
	}
}

func TestKeys_AllExpireButNotTooEarly(t *testing.T) {
	f := newFleet(t)
	const recovery, lease = 40 * time.Second, 30 * time.Second
	clock := new(atomic.Int64)
	b := f.member(redisbreaker.Config{Breaker: breaker.Config{RecoveryTime: recovery, MaxRecoveryTime: recovery, Lease: lease,
		Now: func() time.Duration { return time.Duration(clock.Load()) }}})
	check := func(when string) {
		t.Helper()
		keys, err := f.redis.Keys(t.Context(), f.prefix+"*").Result()
		if err != nil || len(keys) != 1 {
			t.Fatalf("%s: keys %v, %v; want one a circuit", when, keys, err)
		}
		ttl, err := f.redis.PTTL(t.Context(), keys[0]).Result()
		if err != nil || ttl < recovery+lease || ttl > 10*time.Minute {
			t.Fatalf("%s: expires in %v (%v), want at least %v", when, ttl, err, recovery+lease)
		}
		// As if no time but the least were left before the next write.
		if err := f.redis.PExpire(t.Context(), keys[0], recovery+lease+time.Second).Err(); err != nil {
			t.Fatal(err)
		}
	}
	report(t, b, breaker.Failure, 1)
	check("a failure")
	p := acquire(t, b)
	check("a slot at the trip edge")
	p.Done(breaker.Success)
	check("a success")
	report(t, b, breaker.Failure, 3)
	check("OPEN")
	f.age(recovery)
	clock.Add(int64(2 * recovery))
	p = acquire(t, b)
	check("HALF_OPEN")
	p.Done(breaker.Success)
	check("a good probe")
	report(t, b, breaker.Failure, 1)
	check("OPEN again")
	f.age(recovery)
	clock.Add(int64(2 * recovery))
	report(t, b, breaker.Success, 2)
	check("CLOSED")
}

func TestKeys_NoneWithoutFailures(t *testing.T) {
	f := newFleet(t)
	b := f.member(redisbreaker.Config{})
	report(t, b, breaker.Success, 10)
	report(t, b, breaker.Neutral, 10)
	if h := f.hash(); len(h) != 0 {
		t.Fatalf("stored %v", h)
	}
}

func TestDo(t *testing.T) {
	f := newFleet(t)
	refusedInput := errors.New("no such order")
	b := f.member(redisbreaker.Config{Breaker: breaker.Config{
		Classify: func(ctx context.Context, err error) breaker.Outcome {
			if errors.Is(err, refusedInput) {
				return breaker.Success
			}
			return breaker.DefaultClassify(ctx, err)
		}}})
	do := func(err error) (int, error) {
		return redisbreaker.Do(t.Context(), b, func(context.Context) (int, error) { return 7, err })
	}
	if n, err := do(nil); n != 7 || err != nil {
		t.Fatal(n, err)
	}
	down := errors.New("endpoint down")
	_, _ = do(down)
	_, _ = do(down)
	_, _ = do(refusedInput) // the configured classification says success
	if n := f.hash()["failures"]; n != "0" {
		t.Fatalf("%s failures", n)
	}
	for range 3 {
		func() {
			defer func() {
				if v := recover(); v != "lost" {
					t.Errorf("recovered %v", v)
				}
			}()
			_, _ = redisbreaker.Do(t.Context(), b, func(context.Context) (int, error) { panic("lost") })
		}()
	}
	if state := f.hash()["state"]; state != "open" {
		t.Fatalf("state %q after three panics", state)
	}
	if _, err := do(nil); !errors.Is(err, breaker.ErrOpen) {
		t.Fatal(err)
	}
}

// ForceOpen of a process's own breaker holds whatever the fleet says.
func TestLocal_ForceOpenHolds(t *testing.T) {
	f := newFleet(t)
	clock := new(atomic.Int64)
	all := f.members(2, breaker.Config{FailureThreshold: 1, RecoveryTime: time.Minute,
		Now: func() time.Duration { return time.Duration(clock.Load()) }})
	report(t, all[0], breaker.Failure, 1)
	f.age(time.Minute)
	clock.Add(int64(time.Minute))
	p, q := acquire(t, all[0]), acquire(t, all[0])
	all[0].Local().ForceOpen()
	p.Done(breaker.Success)
	q.Done(breaker.Success)
	if _, err := all[0].TryAcquire(); err == nil || !strings.Contains(err.Error(), "forced open") {
		t.Fatal(err)
	}
	report(t, all[1], breaker.Success, 1)
}
