package outbox

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWake_SignalDeliversAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		var r recorder
		start(t, s, Config{PollInterval: time.Hour}, Destination{Name: "a", Sender: r.sender()})
		for range 20 {
			time.Sleep(700 * time.Millisecond)
			begin := time.Now()
			s.put("", "a")
			s.await(all(Published))
			if waited := time.Since(begin); waited != 0 {
				t.Fatalf("delivered after %v", waited)
			}
		}
	})
}

func TestWake_TrailingEdgeOfABurstIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		// The event is committed while a claim runs, after it has looked.
		late := false
		var r recorder
		s.onClaim = func(ClaimRequest) error {
			time.Sleep(time.Millisecond)
			return nil
		}
		d, err := NewDispatcher(lateStore{s, func() {
			if !late {
				late = true
				s.put("", "a")
			}
		}}, []Destination{{Name: "a", Sender: r.sender()}}, Config{PollInterval: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- d.Run(ctx) }()
		s.put("", "a")
		begin := time.Now()
		s.await(func(rows []*memRow) bool { return len(rows) == 2 && all(Published)(rows) })
		if waited := time.Since(begin); waited > 10*time.Millisecond {
			t.Errorf("the trailing event waited %v", waited)
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// lateStore does something between a claim's look and its return.
type lateStore struct {
	*memStore
	late func()
}

func (s lateStore) Claim(ctx context.Context, req ClaimRequest) (Claim, error) {
	c, err := s.memStore.Claim(ctx, req)
	s.late()
	return c, err
}

func TestWake_TimerAtTheEarliestDueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		s.rows[0].due = time.Now().Add(1234 * time.Millisecond)
		var r recorder
		begin := time.Now()
		start(t, s, Config{PollInterval: time.Hour}, Destination{Name: "a", Sender: r.sender()})
		s.await(all(Published))
		if waited := time.Since(begin); waited != 1234*time.Millisecond {
			t.Errorf("delivered after %v", waited)
		}
	})
}

func TestWake_PollFindsWhatNoSignalTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		var r recorder
		start(t, deafStore{s}, Config{PollInterval: 3 * time.Second}, Destination{Name: "a", Sender: r.sender()})
		synctest.Wait()
		s.put("", "a")
		begin := time.Now()
		s.await(all(Published))
		if waited := time.Since(begin); waited > 3*time.Second {
			t.Errorf("delivered after %v", waited)
		}
	})
}

// deafStore never signals.
type deafStore struct{ *memStore }

func (deafStore) Watch(ctx context.Context) (<-chan struct{}, error) {
	c := make(chan struct{})
	context.AfterFunc(ctx, func() { close(c) })
	return c, nil
}

func TestWake_OwnSettlesNeedNoSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 50 {
			s.put("k", "a")
		}
		var r recorder
		start(t, deafStore{s}, Config{PollInterval: time.Hour, Batch: 2}, Destination{Name: "a", Retry: RetryPolicy{Base: time.Millisecond, Cap: time.Millisecond}, Sender: senderFunc(func(_ context.Context, d *Delivery) Outcome {
			if d.RetryCount == 0 {
				return failed("once")
			}
			r.note(d)
			return delivered()
		})})
		begin := time.Now()
		s.await(all(Published))
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("a hot key took %v: its turns were not noticed", took)
		}
	})
}

func TestWake_FullBatchesClaimAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 10_000 {
			s.put("", "a")
		}
		var r recorder
		d, _ := start(t, deafStore{s}, Config{PollInterval: time.Hour}, Destination{Name: "a", Sender: r.sender()})
		begin := time.Now()
		s.await(all(Published))
		if took := time.Since(begin); took != 0 {
			t.Errorf("took %v", took)
		}
		if n := d.Stats().Claims; n > 250 {
			t.Errorf("%d claims for 10,000 deliveries: the batches are small", n)
		}
	})
}

func TestWake_IdleDispatcherOnlyPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		var r recorder
		d, _ := start(t, s, Config{}, Destination{Name: "a", Sender: r.sender()}, Destination{Name: "b", Sender: r.sender()})
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := d.Stats().Claims; n > 62 {
			t.Errorf("%d claims in an idle minute", n)
		}
	})
}

func TestWake_ClaimThatFailsIsTriedAgainLaterAndLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		tries := 0
		s.onClaim = func(ClaimRequest) error {
			tries++
			if tries < 12 {
				return errors.New("disk I/O error")
			}
			return nil
		}
		var r recorder
		lines := &logLines{}
		start(t, s, Config{Logger: lines.logger()}, Destination{Name: "a", Sender: r.sender()})
		begin := time.Now()
		s.await(all(Published))
		if took := time.Since(begin); took < 20*time.Second || took > 50*time.Second {
			t.Errorf("12 tries took %v", took)
		}
		if lines.count("claim failed") != 11 {
			t.Errorf("logged %d times", lines.count("claim failed"))
		}
	})
}

func TestPurge_RemovesOldEventsInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 1200 {
			s.put("", "a")
		}
		var r recorder
		d, _ := start(t, s, Config{Retention: time.Hour}, Destination{Name: "a", Sender: r.sender()})
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if n := d.Stats().Purged; n != 0 {
			t.Errorf("%d purged within the retention", n)
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if n := d.Stats().Purged; n != 1200 {
			t.Errorf("%d purged, want 1200", n)
		}
	})
}

func TestPurge_NegativeRetentionKeepsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		var r recorder
		d, _ := start(t, s, Config{Retention: -1, PollInterval: 24 * time.Hour}, Destination{Name: "a", Sender: r.sender()})
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := d.Stats().Purged; n != 0 {
			t.Errorf("%d purged", n)
		}
	})
}

func TestOrphans_AreReportedWhenNobodyTakesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "renamed")
		s.put("", "elsewhere")
		var r recorder
		lines := &logLines{}
		start(t, s, Config{Logger: lines.logger()}, Destination{Name: "a", Sender: r.sender()})
		start(t, s, Config{}, Destination{Name: "elsewhere", Sender: r.sender()})
		time.Sleep(12 * time.Minute)
		synctest.Wait()
		if got := lines.count(`"destination":"renamed"`); got != 2 {
			t.Errorf("reported %d times in 12 minutes, want every 5", got)
		}
		if lines.count("elsewhere") != 0 {
			t.Error("a destination that another dispatcher serves was reported")
		}
	})
}
