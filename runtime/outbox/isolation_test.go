package outbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// Promise 6: a dead, hanging, paused or faulty destination neither delays nor
// starves another.
func TestIsolation_BadDestinationsDelayNoOther(t *testing.T) {
	for name, bad := range map[string]Destination{
		"hanging": {Timeout: time.Hour, Sender: senderFunc(func(ctx context.Context, _ *Delivery) Outcome {
			<-ctx.Done()
			return failed("hung")
		})},
		"dead":                {Sender: senderFunc(func(context.Context, *Delivery) Outcome { return failed("dead") }), Retry: RetryPolicy{Base: time.Millisecond, Cap: time.Millisecond}},
		"dead with a breaker": {Breaker: mustBreaker(), Sender: senderFunc(func(context.Context, *Delivery) Outcome { return failed("dead") })},
		"panicking":           {Sender: senderFunc(func(context.Context, *Delivery) Outcome { panic("bad") })},
		"at fault":            {Sender: senderFunc(func(context.Context, *Delivery) Outcome { return Outcome{Result: LocalFault} })},
		"disabled":            {Sender: senderFunc(func(context.Context, *Delivery) Outcome { return Outcome{Result: Disabled} })},
		"paused": {Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			return Outcome{Result: Paused, PauseFor: time.Hour}
		})},
		"unknowing": {Knows: func(string, int) bool { return false }, Sender: senderFunc(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMemStore()
				bad.Name = "bad"
				var worst time.Duration
				good := senderFunc(func(_ context.Context, d *Delivery) Outcome {
					worst = max(worst, time.Since(d.CreatedAt))
					return delivered()
				})
				for range 300 {
					s.put("", "bad")
				}
				start(t, s, Config{}, bad, Destination{Name: "good", MaxInFlight: 1, Sender: good})
				for range 100 {
					s.put("", "bad", "good")
					time.Sleep(10 * time.Millisecond)
				}
				s.await(func(rows []*memRow) bool {
					for _, r := range rows {
						if r.dest == "good" && r.status != Published {
							return false
						}
					}
					return true
				})
				if worst > 50*time.Millisecond {
					t.Errorf("the good destination's worst latency is %v", worst)
				}
			})
		})
	}
}

func mustBreaker() *breaker.Breaker {
	b, err := breaker.New(breaker.Config{Now: func() time.Duration { return 0 }})
	if err != nil {
		panic(err)
	}
	return b
}

func TestIsolation_CapsHoldPerDestination(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		hang := make(chan struct{})
		sender := senderFunc(func(context.Context, *Delivery) Outcome { <-hang; return delivered() })
		d, _ := start(t, s, Config{}, Destination{Name: "a", MaxInFlight: 3, Sender: sender}, Destination{Name: "b", MaxInFlight: 7, Sender: sender})
		for range 1000 {
			s.put("", "a", "b")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		st := d.Stats().Destinations
		if st[0].InFlight != 3 || st[1].InFlight != 7 {
			t.Errorf("in flight %d and %d, want 3 and 7", st[0].InFlight, st[1].InFlight)
		}
		if st[0].Buffered != 0 || st[1].Buffered != 0 {
			t.Errorf("%d and %d wait behind hanging attempts, want them given back", st[0].Buffered, st[1].Buffered)
		}
		close(hang)
		s.await(all(Published))
	})
}

func TestIsolation_MemoryIsBoundedByBatchNotBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 5000 {
			s.put("", "a")
		}
		most := int64(0)
		var d *Dispatcher
		ready := make(chan struct{})
		d, _ = start(t, s, Config{Batch: 50}, Destination{Name: "a", MaxInFlight: 1, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			<-ready
			st := d.Stats().Destinations[0]
			most = max(most, st.Claimed-st.Delivered)
			return delivered()
		})})
		close(ready)
		s.await(all(Published))
		if most > 4*50+1+2*50 {
			t.Errorf("%d deliveries were held at a time", most)
		}
	})
}
