package outbox

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// senderFunc is a function as a Sender.
type senderFunc func(ctx context.Context, d *Delivery) Outcome

func (f senderFunc) Send(ctx context.Context, d *Delivery) Outcome { return f(ctx, d) }

func delivered() Outcome { return Outcome{Result: Delivered, Breaker: breaker.Success} }

func failed(message string) Outcome {
	return Outcome{Result: Failed, Breaker: breaker.Failure, Failure: &Failure{Cause: "status", StatusCode: 503, Message: message}}
}

// recorder notes what was sent, in order.
type recorder struct {
	mu   sync.Mutex
	seqs []int64
}

func (r *recorder) note(d *Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seqs = append(r.seqs, d.Seq)
}

func (r *recorder) got() []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]int64(nil), r.seqs...)
}

func (r *recorder) sender() Sender {
	return senderFunc(func(ctx context.Context, d *Delivery) Outcome {
		r.note(d)
		return delivered()
	})
}

func TestDispatcher_DeliversEveryEventToEachOfItsDestinationsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		var a, b recorder
		d, stop := start(t, s, Config{},
			Destination{Name: "a", Sender: a.sender()}, Destination{Name: "b", Sender: b.sender()})
		for range 1000 {
			s.put("", "a", "b")
		}
		s.await(all(Published))
		if len(a.got()) != 1000 || len(b.got()) != 1000 {
			t.Errorf("sent %d and %d, want 1000 each", len(a.got()), len(b.got()))
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		for _, st := range d.Stats().Destinations {
			if st.Delivered != 1000 || st.Failed != 0 || st.LostLeases != 0 || st.InFlight != 0 || st.Buffered != 0 {
				t.Errorf("stats: %+v", st)
			}
		}
	})
}

func TestDispatcher_ClaimsForAllDestinationsInOneTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		var r recorder
		for range 5 {
			s.put("", "a", "b", "c")
		}
		_, stop := start(t, s, Config{}, Destination{Name: "a", Sender: r.sender()}, Destination{Name: "b", Sender: r.sender()}, Destination{Name: "c", Sender: r.sender()})
		s.await(all(Published))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got := len(s.claims[0].Wants); got != 3 {
			t.Errorf("the first claim asks for %d destinations, want 3", got)
		}
	})
}

func TestDispatcher_ClaimsTakeTurnsBetweenDestinations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		var r recorder
		start(t, s, Config{}, Destination{Name: "a", Sender: r.sender()}, Destination{Name: "b", Sender: r.sender()})
		time.Sleep(5 * time.Second) // five slow polls
		first := map[string]int{}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range s.claims {
			first[c.Wants[0].Destination]++
		}
		if first["a"] < 2 || first["b"] < 2 {
			t.Errorf("first in a claim: %v, want both in turn", first)
		}
	})
}

func TestNewDispatcher_NamesEveryFaultAtOnce(t *testing.T) {
	_, err := NewDispatcher(nil, []Destination{
		{Name: "", Timeout: -1, MaxInFlight: -1, MaxAge: -1, Retry: RetryPolicy{MaxAttempts: -1, Base: -1, Cap: -1}},
		{Name: "a", Sender: senderFunc(nil), Timeout: time.Minute},
		{Name: "a", Sender: senderFunc(nil)},
	}, Config{Batch: -1, PollInterval: -1, ShutdownTimeout: -1, CrashLimit: -1, Lease: 30 * time.Second})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"store is nil", "batch is -1", "poll interval", "shutdown timeout", "crash limit",
		`destination 0 ""`, "no name", "no sender", "timeout is -1ns", "max in flight is -1", "max age", "max attempts is -1", "base is", "cap is",
		"lease of 30s must exceed its timeout of 1m0s", `destination 2 "a": its name is taken`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

func TestRun_RefusesASecondRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stop := start(t, newMemStore(), Config{})
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if err := d.Run(context.Background()); !errors.Is(err, ErrRunning) {
			t.Errorf("second Run: %v, want ErrRunning", err)
		}
	})
}

func TestRun_WithAnEndedContextReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		var r recorder
		d, err := NewDispatcher(s, []Destination{{Name: "a", Sender: r.sender()}}, Config{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := d.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
		if len(r.got()) != 0 {
			t.Error("an attempt was made after the context had ended")
		}
	})
}
