package outbox

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// orphaned puts n events per destination whose leases a dead process holds.
func orphaned(s *memStore, n int, dests ...string) {
	for _, dest := range dests {
		for range n {
			s.lease(s.put("", dest), dest, -time.Second)
		}
	}
}

func TestSuspects_AreStartedOneAtATimeInTheWholeProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		orphaned(s, 10, "a", "b")
		for range 50 {
			s.put("", "a", "b")
		}
		var mu sync.Mutex
		held, order := 0, ""
		sender := senderFunc(func(_ context.Context, d *Delivery) Outcome {
			if !d.Suspect {
				time.Sleep(10 * time.Millisecond)
				return delivered()
			}
			mu.Lock()
			held++
			order += d.Destination
			if held > 1 {
				t.Errorf("%d suspects at a time", held)
			}
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			held--
			mu.Unlock()
			return delivered()
		})
		start(t, s, Config{}, Destination{Name: "a", MaxInFlight: 2, Sender: sender}, Destination{Name: "b", MaxInFlight: 2, Sender: sender})
		s.await(all(Published))
		if s.maxSuspect != 1 {
			t.Errorf("%d suspects were leased at a time", s.maxSuspect)
		}
		if order != "abababababababababab" && order != "babababababababababa" {
			t.Errorf("destinations took turns as %s", order)
		}
	})
}

func TestSuspects_AreNotStarvedByASaturatedDestination(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		orphaned(s, 1, "a")
		for range 10_000 {
			s.put("", "a")
		}
		start(t, s, Config{}, Destination{Name: "a", MaxInFlight: 1, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			time.Sleep(100 * time.Millisecond)
			return delivered()
		})})
		begin := time.Now()
		s.await(func(rows []*memRow) bool { return rows[0].status == Published })
		if waited := time.Since(begin); waited > 5*time.Second {
			t.Errorf("the suspect waited for %v", waited)
		}
	})
}

func TestSuspects_OfAHangingDestinationWaitNotOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		hang := make(chan struct{})
		defer close(hang)
		s.put("", "hanging")
		var r recorder
		d, _ := start(t, s, Config{}, Destination{Name: "hanging", MaxInFlight: 1, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			<-hang
			return delivered()
		})}, Destination{Name: "b", Sender: r.sender()})
		synctest.Wait()
		orphaned(s, 1, "hanging", "b")
		s.await(func(rows []*memRow) bool { return rows[2].status == Published })
		if got := d.Stats().Destinations[0].InFlight; got != 1 {
			t.Errorf("%d in flight at the hanging destination, want its cap, 1", got)
		}
	})
}

func TestSuspects_AreTheProbeWhenNothingElseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		b := newBreaker(t, breaker.Config{FailureThreshold: 1, HalfOpenMaxCalls: 1})
		permit, err := b.TryAcquire()
		if err != nil {
			t.Fatal(err)
		}
		permit.Done(breaker.Failure)
		orphaned(s, 3, "a")
		var r recorder
		start(t, s, Config{}, Destination{Name: "a", Breaker: b, Sender: r.sender()})
		s.await(all(Published))
	})
}

func TestSuspects_CrashCountIsRaisedBeforeTheAttemptAndResetByASettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		orphaned(s, 1, "a")
		s.rows[0].crashes = 4
		_, stop := start(t, s, Config{}, Destination{Name: "a", Sender: senderFunc(func(_ context.Context, d *Delivery) Outcome {
			if d.CrashCount != 5 {
				t.Errorf("crash count %d while it runs, want it raised to 5 already", d.CrashCount)
			}
			return delivered()
		})})
		s.await(all(Published))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if s.rows[0].crashes != 0 {
			t.Error("a settle does not reset the crash count")
		}
	})
}

func TestSuspects_CrashLimitQuarantinesWithoutAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		orphaned(s, 1, "a")
		s.rows[0].crashes = 2
		for range 3 {
			s.put("", "a")
		}
		var r recorder
		lines := &logLines{}
		d, stop := start(t, s, Config{CrashLimit: 2, Logger: lines.logger()}, Destination{Name: "a", Sender: r.sender()})
		published := all(Published)
		s.await(func(rows []*memRow) bool { return rows[0].status == DeadLetter && published(rows[1:]) })
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if s.rows[0].kind != FailureCrash || len(r.got()) != 3 {
			t.Errorf("kind %s, %d attempts; want crash, and attempts of the 3 others only", s.rows[0].kind, len(r.got()))
		}
		if d.Stats().Destinations[0].DeadLetters != 1 || lines.count(`"failure_kind":"crash"`) != 1 {
			t.Error("the dead letter was not counted, or not logged")
		}
	})
}

func TestSuspects_GivenBackAreNotCountedAsCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		orphaned(s, 1, "a")
		_, stop := start(t, s, Config{ShutdownTimeout: time.Second}, Destination{Name: "a", Sender: senderFunc(func(ctx context.Context, _ *Delivery) Outcome {
			<-ctx.Done()
			return failed(ctx.Err().Error())
		}), Timeout: time.Minute})
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if r := s.rows[0]; r.status != Pending || r.crashes != 0 || r.retries != 0 {
			t.Errorf("after a shutdown: %+v", r)
		}
	})
}
