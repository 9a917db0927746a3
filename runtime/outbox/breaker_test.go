package outbox

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

func newBreaker(t *testing.T, c breaker.Config) *breaker.Breaker {
	t.Helper()
	b, err := breaker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Promise 7: waiting is free.
func TestBreaker_ThirtyMinuteOutageDeadLettersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiting, outage = 10_000, 30 * time.Minute
		s := newMemStore()
		for range waiting {
			s.put("", "a")
		}
		b := newBreaker(t, breaker.Config{})
		begin := time.Now()
		down := 0
		var sent atomic.Int64
		d, stop := start(t, s, Config{}, Destination{Name: "a", Breaker: b, Retry: RetryPolicy{MaxAttempts: 5, Base: time.Second, Cap: time.Minute}, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			if time.Since(begin) < outage {
				time.Sleep(10 * time.Millisecond)
				down++ // the race detector sees two at a time: the trip edge and the probes are to be few, not many
				return failed("down")
			}
			sent.Add(1)
			return delivered()
		}), MaxInFlight: 1})
		s.await(all(Published))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if st := d.Stats().Destinations[0]; st.DeadLetters != 0 || st.Delivered != waiting {
			t.Errorf("stats %+v", st)
		}
		// 3 to trip, then a probe a recovery time: 10 s, 20 s, 40 s, and 60 s from there on.
		if down < 25 || down > 3+35 {
			t.Errorf("the endpoint got %d requests while it was down", down)
		}
		spent := 0
		for _, r := range s.rows {
			spent = max(spent, r.retries)
		}
		if spent > 1 {
			t.Errorf("one delivery spent %d attempts on probes, want them to go to the fewest tried", spent)
		}
		if took := time.Since(begin); took > outage+3*time.Minute {
			t.Errorf("all was delivered after %v", took)
		}
	})
}

func TestBreaker_OpenCostsWhatWaitsNoAttemptWithManyWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 1000 {
			s.put("", "a")
		}
		b := newBreaker(t, breaker.Config{})
		var calls atomic.Int32
		down := true
		_, stop := start(t, s, Config{}, Destination{Name: "a", Breaker: b, MaxInFlight: 50, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			time.Sleep(5 * time.Millisecond)
			if down {
				calls.Add(1)
				return failed("down")
			}
			return delivered()
		})})
		time.Sleep(9 * time.Second) // within the first recovery time
		synctest.Wait()
		// The first 50 may be under way before a failure is known, and two more
		// start at the trip edge.
		if n := calls.Load(); n > 50+2 {
			t.Errorf("%d attempts before the breaker opened", n)
		}
		spent, held := 0, 0
		s.mu.Lock()
		for _, r := range s.rows {
			spent += r.retries
			if r.status == Processing {
				held++
			}
		}
		s.mu.Unlock()
		if spent != int(calls.Load()) {
			t.Errorf("%d attempts spent for %d calls", spent, calls.Load())
		}
		if held != 0 {
			t.Errorf("%d deliveries are still leased while the breaker is open, want the buffer given back", held)
		}
		down = false
		s.await(all(Published))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// Case B-01.
func TestBreaker_HalfOpenSendsOneProbeUntilItSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 200 {
			s.put("", "a")
		}
		b := newBreaker(t, breaker.Config{FailureThreshold: 1, HalfOpenMaxCalls: 1, Lease: time.Hour})
		permit, err := b.TryAcquire()
		if err != nil {
			t.Fatal(err)
		}
		permit.Done(breaker.Failure) // cools down for ten seconds
		answer := make(chan Outcome)
		var onTheWire atomic.Int32
		_, stop := start(t, s, Config{}, Destination{Name: "a", Breaker: b, MaxInFlight: 50, Timeout: 10 * time.Minute, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			onTheWire.Add(1)
			return <-answer
		})})
		time.Sleep(5 * time.Minute) // the endpoint hangs
		synctest.Wait()
		if n := onTheWire.Load(); n != 1 {
			t.Errorf("%d requests on the wire, want 1", n)
		}
		s.mu.Lock()
		if n := len(s.claims); n > 5*60*2 {
			t.Errorf("%d claims in 5 minutes: a hot loop", n)
		}
		spent := 0
		for _, r := range s.rows {
			spent += r.retries
		}
		s.mu.Unlock()
		if spent != 0 {
			t.Errorf("%d attempts spent by waiting", spent)
		}
		go func() {
			for range 200 {
				answer <- delivered()
			}
		}()
		s.await(all(Published))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestBreaker_TripEdgeWaitsWithoutAnAttemptAndWithoutALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 100 {
			s.put("", "a")
		}
		b := newBreaker(t, breaker.Config{FailureThreshold: 2})
		permit, err := b.TryAcquire()
		if err != nil {
			t.Fatal(err)
		}
		permit.Done(breaker.Failure) // one more opens it
		var inFlight atomic.Int32
		_, stop := start(t, s, Config{}, Destination{Name: "a", Breaker: b, MaxInFlight: 16, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			if n := inFlight.Add(1); n > 1 && b.Room() == 0 {
				t.Errorf("%d in flight at the trip edge", n)
			}
			time.Sleep(3 * time.Second)
			inFlight.Add(-1)
			return delivered()
		})})
		s.await(all(Published))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if n := len(s.claims); n > 300 {
			t.Errorf("%d claims for 100 deliveries", n)
		}
	})
}

func TestBreaker_OpenStateSurvivesARestartAsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 10 {
			s.put("", "a")
		}
		var calls []time.Time
		sender := senderFunc(func(context.Context, *Delivery) Outcome {
			calls = append(calls, time.Now())
			return failed("down")
		})
		dest := Destination{Name: "a", MaxInFlight: 1, Sender: sender, Retry: RetryPolicy{Base: time.Millisecond}}
		dest.Breaker = newBreaker(t, breaker.Config{})
		_, stop := start(t, s, Config{}, dest)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(calls) != 3 {
			t.Fatalf("%d calls before it opened", len(calls))
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		restarted := time.Now()
		dest.Breaker = newBreaker(t, breaker.Config{})
		_, stop = start(t, s, Config{}, dest)
		time.Sleep(30 * time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got := calls[3].Sub(calls[2]); got < 9*time.Second || got > 10*time.Second+100*time.Millisecond {
			t.Errorf("the first call after the restart came %v after the breaker opened (%v after the restart), want just before its 10s are over", got, calls[3].Sub(restarted))
		}
	})
}

func TestBreaker_StoredPauseDelaysNoProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 10 {
			s.put("", "a")
		}
		b := newBreaker(t, breaker.Config{FailureThreshold: 1, MaxRecoveryTime: 10 * time.Second})
		var calls []time.Time
		_, stop := start(t, s, Config{}, Destination{Name: "a", Breaker: b, MaxInFlight: 1, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			calls = append(calls, time.Now())
			return failed("down")
		})})
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if len(calls) < 5 {
			t.Fatalf("%d calls in a minute", len(calls))
		}
		for i := 1; i < len(calls); i++ {
			if got := calls[i].Sub(calls[i-1]); got != 10*time.Second {
				t.Errorf("probe %d came after %v, want 10s", i, got)
			}
		}
		if len(s.changes) == 0 {
			t.Error("no pause was stored")
		}
	})
}
