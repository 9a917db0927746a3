package breaker_test

import (
	"bytes"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

func TestHook_MayCallTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *breaker.Breaker
		var seen []breaker.State
		b = newBreaker(t, breaker.Config{OnTransition: func(tr breaker.Transition) {
			_, _, _, _ = b.State(), b.Room(), b.RetryIn(), b.Counts()
			_, _ = b.TryAcquire()
			if seen = append(seen, tr.To); len(seen) == 1 {
				b.ForceOpen()
				b.Reset()
			}
		}})
		report(t, b, breaker.Failure, 3)
		synctest.Wait()
		wantState(t, b, breaker.Closed)
		if len(seen) != 2 || seen[0] != breaker.Open || seen[1] != breaker.Closed {
			t.Fatalf("transitions %v", seen)
		}
	})
}

func TestHook_PanicIsLoggedAndTheRestGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var seen int
		b := newBreaker(t, breaker.Config{
			Logger: slog.New(slog.NewTextHandler(&out, nil)),
			OnTransition: func(breaker.Transition) {
				seen++
				panic("broken hook")
			},
		})
		for range 3 {
			b.ForceOpen()
			b.Reset()
		}
		synctest.Wait()
		if seen != 6 || b.Counts().HookFailures != 6 || strings.Count(out.String(), "broken hook") < 6 {
			t.Fatalf("%d calls, %d failures\n%s", seen, b.Counts().HookFailures, out.String())
		}
	})
}

func TestHook_GoexitLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen int
		b := newBreaker(t, breaker.Config{OnTransition: func(breaker.Transition) {
			seen++
			runtime.Goexit()
		}})
		for range 3 {
			b.ForceOpen()
			b.Reset()
		}
		if err := b.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if seen != 6 {
			t.Fatalf("%d of 6 transitions told", seen)
		}
	})
}

func TestHook_SlowOneDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		b := newBreaker(t, breaker.Config{OnTransition: func(breaker.Transition) { <-stuck }})
		start := time.Now()
		report(t, b, breaker.Failure, 3)
		refusal(t, b, breaker.ReasonOpen)
		time.Sleep(10 * time.Second)
		report(t, b, breaker.Success, 2) // the probe that makes the transition, too
		report(t, b, breaker.Success, 2)
		wantState(t, b, breaker.Closed)
		if took := time.Since(start); took != 10*time.Second {
			t.Fatalf("took %v, want the recovery time alone", took)
		}
		close(stuck)
	})
}

// Under load, the transitions told form one legal chain, and each opening is
// told once.
func TestHook_OneLegalChain(t *testing.T) {
	var mu sync.Mutex
	var chain []breaker.Transition
	b := newBreaker(t, breaker.Config{
		Name:         "chain",
		RecoveryTime: time.Microsecond,
		OnTransition: func(tr breaker.Transition) {
			mu.Lock()
			defer mu.Unlock()
			chain = append(chain, tr)
		},
	})
	crowd(8, func() {
		for i := range 2000 {
			p, err := b.TryAcquire()
			if err != nil {
				runtime.Gosched()
				continue
			}
			if i%7 < 3 {
				p.Done(breaker.Success)
			} else {
				p.Done(breaker.Failure)
			}
		}
	})
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	legal := map[[2]breaker.State]bool{
		{breaker.Closed, breaker.Open}: true, {breaker.Open, breaker.HalfOpen}: true,
		{breaker.HalfOpen, breaker.Open}: true, {breaker.HalfOpen, breaker.Closed}: true,
	}
	at, generation, opened := breaker.Closed, uint64(1), uint64(0)
	for i, tr := range chain {
		if tr.From != at || !legal[[2]breaker.State{tr.From, tr.To}] || tr.Generation != generation+1 || tr.Name != "chain" {
			t.Fatalf("transition %d from %v, generation %d: %+v", i, at, generation, tr)
		}
		if at, generation = tr.To, tr.Generation; at == breaker.Open {
			opened++
		}
	}
	if opened != b.Counts().Opened || opened == 0 {
		t.Fatalf("%d openings told, %d counted", opened, b.Counts().Opened)
	}
}

func TestHook_TransitionFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last breaker.Transition
		b := newBreaker(t, breaker.Config{OnTransition: func(tr breaker.Transition) { last = tr }})
		want := func(cause breaker.Cause, openFor time.Duration) {
			t.Helper()
			synctest.Wait()
			if last.Cause != cause || last.OpenFor != openFor || !last.At.Equal(time.Now()) {
				t.Fatalf("transition %+v, want %s, open for %v, now", last, cause, openFor)
			}
		}
		report(t, b, breaker.Failure, 3)
		want(breaker.CauseFailures, 10*time.Second)
		time.Sleep(10 * time.Second)
		p := acquire(t, b)
		want(breaker.CauseRecoveryTime, 0)
		p.Done(breaker.Failure)
		want(breaker.CauseProbeFailed, 20*time.Second)
		time.Sleep(20 * time.Second)
		report(t, b, breaker.Success, 2)
		want(breaker.CauseProbes, 0)
		b.OpenFor(time.Minute)
		want(breaker.CauseOpenFor, time.Minute)
		b.Recovered()
		want(breaker.CauseRecovered, 0)
		b.OpenFor(time.Minute)
		b.Disable()
		want(breaker.CauseDisabled, 0)
		b.ForceOpen()
		want(breaker.CauseForced, 0)
		b.Reset()
		want(breaker.CauseReset, 0)
	})
}

func TestFlush_NothingToTell(t *testing.T) {
	if err := newBreaker(t, breaker.Config{}).Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := newBreaker(t, breaker.Config{OnTransition: func(breaker.Transition) {}})
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}
