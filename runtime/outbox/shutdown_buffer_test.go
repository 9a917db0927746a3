package outbox

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Promise 11: what waits in the buffer is given back at once, as it was.
func TestShutdown_GivesTheBufferBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 1000 {
			s.put("", "a")
		}
		var calls atomic.Int32
		d, stop := start(t, s, Config{}, Destination{Name: "a", MaxInFlight: 4, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			if calls.Add(1) > 300 { // by then the buffer is deep
				time.Sleep(time.Second)
			}
			return delivered()
		})})
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if d.Stats().Destinations[0].Buffered == 0 {
			t.Fatal("nothing waits in the buffer: the test shows nothing")
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		published := 0
		for _, r := range s.rows {
			switch {
			case r.status == Published:
				published++
			case r.status != Pending || r.retries != 0 || r.due.After(time.Now()):
				t.Errorf("event %d is left %s after %d retries, due in %v", r.event.Seq, r.status, r.retries, time.Until(r.due))
			}
		}
		if n := int(calls.Load()); published != n {
			t.Errorf("%d published after %d attempts", published, n)
		}
	})
}
