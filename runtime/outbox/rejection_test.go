package outbox

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// otherBreaker is one that other processes open and close: it had room when the
// claim asked, and has none when the attempt is to start.
type otherBreaker struct {
	calls  atomic.Int32
	opens  int32 // at this call
	closed atomic.Bool
}

func (b *otherBreaker) isOpen() bool { return b.calls.Load() >= b.opens && !b.closed.Load() }

func (b *otherBreaker) Room() int {
	if b.isOpen() {
		return 0
	}
	return 1000
}

func (b *otherBreaker) TryAcquire() (breaker.Permit, error) {
	b.calls.Add(1)
	if b.isOpen() {
		return breaker.Permit{}, &breaker.OpenError{Reason: breaker.ReasonOpen}
	}
	return breaker.Permit{}, nil
}

func (b *otherBreaker) State() breaker.State {
	if b.isOpen() {
		return breaker.Open
	}
	return breaker.Closed
}

func (b *otherBreaker) RetryIn() time.Duration {
	if b.isOpen() {
		return 10 * time.Minute
	}
	return 0
}

// Promise 7: what the breaker rejects, and what waits behind it in the buffer,
// goes back as it was, and nothing is claimed until it has room again.
func TestBreaker_RejectionSpendsNothingAndGivesTheBufferBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events = 1000
		s := newMemStore()
		for range events {
			s.put("", "a")
		}
		b := &otherBreaker{opens: 300} // by then the buffer is deep
		var sent atomic.Int32
		d, _ := start(t, s, Config{}, Destination{Name: "a", Breaker: b, MaxInFlight: 4, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			sent.Add(1)
			return delivered()
		})})
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		s.mu.Lock()
		spent, leased := 0, 0
		for _, r := range s.rows {
			spent += r.retries
			if r.status == Processing {
				leased++
			}
		}
		claims := len(s.claims)
		s.mu.Unlock()
		if n := sent.Load(); n == 0 || n >= 300 {
			t.Fatalf("%d events were sent before the breaker opened: the test shows nothing", n)
		}
		if spent != 0 || leased != 0 {
			t.Errorf("%d attempts spent and %d deliveries leased while the breaker is open", spent, leased)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		s.mu.Lock()
		if n := len(s.claims) - claims; n != 0 {
			t.Errorf("%d claims in a minute though the breaker has no room", n)
		}
		s.mu.Unlock()
		b.closed.Store(true)
		s.await(all(Published))
		if st := d.Stats().Destinations[0]; sent.Load() != events || st.Failed != 0 {
			t.Errorf("%d attempts for %d events; stats %+v", sent.Load(), events, st)
		}
	})
}
