package outbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

func TestRun_OfOneKeyIsAttemptedInOrderOneAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 200 {
			s.put("k", "a")
		}
		inFlight := 0
		var r recorder
		start(t, s, Config{}, Destination{Name: "a", MaxInFlight: 8, Sender: senderFunc(func(_ context.Context, d *Delivery) Outcome {
			inFlight++ // the race detector sees two at a time
			if inFlight != 1 {
				t.Errorf("%d attempts of one key at a time", inFlight)
			}
			r.note(d)
			time.Sleep(time.Millisecond)
			inFlight--
			return delivered()
		})})
		s.await(all(Published))
		if got := r.got(); !slices.IsSorted(got) || len(got) != 200 {
			t.Errorf("sent %d in the order %v", len(got), got)
		}
	})
}

func TestRun_RemainderIsGivenBackInTheTransactionOfTheFailedMember(t *testing.T) {
	for name, out := range map[string]Outcome{
		"failed":    failed("no"),
		"rejected":  {Result: Rejected},
		"paused":    {Result: Paused, PauseFor: time.Second},
		"unknown":   {Result: Unknown},
		"cancelled": {Result: Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMemStore()
				for range 5 {
					s.put("k", "a")
				}
				answered := false
				_, stop := start(t, s, Config{}, Destination{Name: "a", Sender: senderFunc(func(_ context.Context, d *Delivery) Outcome {
					if d.Seq == 3 && !answered {
						answered = true
						return out
					}
					return delivered()
				})})
				s.await(func(rows []*memRow) bool {
					return all(Published)(rows[3:])
				})
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				for _, tx := range s.settled {
					i := slices.IndexFunc(tx, func(x Settlement) bool { return x.Lease.Seq == 3 })
					if i < 0 {
						continue
					}
					if len(tx) < i+3 || tx[i+1].Lease.Seq != 4 || tx[i+2].Lease.Seq != 5 || tx[i+1].Verdict != GiveBack || tx[i+2].Verdict != GiveBack {
						t.Errorf("the transaction of 3 is %+v, want 4 and 5 given back in it", tx)
					}
					return
				}
				t.Error("3 was never settled")
			})
		})
	}
}

// Case D-07.
func TestHeadOfLine_BlockedKeysDelayNeitherOthersNorAreOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for round := range 3 {
			for key := range 12 {
				e := s.put(fmt.Sprint("key", key), "a")
				if round == 0 && e.Seq != int64(key+1) {
					t.Fatal(e.Seq)
				}
			}
		}
		s.put("Z", "a")
		begin := time.Now()
		var overtaken, z time.Duration
		start(t, s, Config{Batch: 10}, Destination{Name: "a", Retry: RetryPolicy{Base: time.Hour}, Sender: senderFunc(func(_ context.Context, d *Delivery) Outcome {
			switch {
			case d.OrderingKey == "Z":
				z = time.Since(begin)
			case d.Seq > 12:
				overtaken = time.Since(begin)
			}
			if d.Seq <= 12 {
				return failed("no")
			}
			return delivered()
		})})
		s.await(func(rows []*memRow) bool { return rows[36].status == Published })
		if z > time.Second {
			t.Errorf("Z was delivered after %v, want within one poll", z)
		}
		if overtaken != 0 {
			t.Errorf("a later event of a blocked key was sent after %v", overtaken)
		}
	})
}

func TestHeadOfLine_HangingAttemptDoesNotBlockAnotherDispatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		hang := make(chan struct{})
		defer close(hang)
		s.put("", "a")
		start(t, s, Config{}, Destination{Name: "a", MaxInFlight: 1, Timeout: time.Hour, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			<-hang
			return delivered()
		})})
		synctest.Wait()
		var r recorder
		start(t, s, Config{}, Destination{Name: "a", Sender: r.sender()})
		for range 10 {
			s.put("", "a")
		}
		begin := time.Now()
		s.await(func(rows []*memRow) bool { return all(Published)(rows[1:]) })
		if waited := time.Since(begin); waited > tooLong+2*time.Second {
			t.Errorf("the other events waited for %v", waited)
		}
	})
}

// Four dispatchers of eight workers, twenty keys of a hundred events, random
// latency, one answer in ten a 503.
func TestOrder_HoldsPerKeyAcrossDispatchersAndFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, events = 20, 100
		s := newMemStore()
		var mu sync.Mutex
		firsts := map[string][]int64{}
		seen := map[int64]bool{}
		sender := senderFunc(func(ctx context.Context, d *Delivery) Outcome {
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			if rand.IntN(10) == 0 {
				return failed("busy")
			}
			mu.Lock()
			defer mu.Unlock()
			if !seen[d.Seq] {
				seen[d.Seq] = true
				firsts[d.OrderingKey] = append(firsts[d.OrderingKey], d.Seq)
			}
			return delivered()
		})
		for range 4 {
			b := newBreaker(t, breaker.Config{RecoveryTime: 100 * time.Millisecond, MaxRecoveryTime: 100 * time.Millisecond})
			start(t, s, Config{Batch: 20}, Destination{Name: "a", MaxInFlight: 8, Sender: sender, Breaker: b, Retry: RetryPolicy{Base: 50 * time.Millisecond, Cap: time.Second}})
		}
		for range events {
			for k := range keys {
				s.put(fmt.Sprint("key", k), "a")
			}
			time.Sleep(time.Millisecond)
		}
		s.await(all(Published))
		mu.Lock()
		defer mu.Unlock()
		for k, seqs := range firsts {
			if len(seqs) != events || !slices.IsSorted(seqs) {
				t.Errorf("%s: first successes %v", k, seqs)
			}
		}
	})
}
