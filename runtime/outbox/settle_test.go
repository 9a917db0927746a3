package outbox

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestSettle_GathersWhatCameWhileTheLastTransactionRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.onSettle = func([]Settlement) error { time.Sleep(50 * time.Millisecond); return nil }
		for range 1000 {
			s.put("", "a")
		}
		var r recorder
		d, stop := start(t, s, Config{}, Destination{Name: "a", Sender: r.sender()})
		s.await(all(Published))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if n := d.Stats().Settles; n > 60 {
			t.Errorf("%d settle transactions for 1000 deliveries", n)
		}
	})
}

func TestSettle_IsNotHeldBackWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		var r recorder
		start(t, s, Config{}, Destination{Name: "a", Sender: r.sender()})
		synctest.Wait()
		begin := time.Now()
		s.put("", "a")
		s.await(all(Published))
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("an idle dispatcher took %v", waited)
		}
	})
}

func TestSettle_BusyStoreLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 500 {
			s.put("", "a")
		}
		begin := time.Now()
		locked := func() bool {
			since := time.Since(begin)
			return since > 0 && since < 30*time.Second || since > 40*time.Second && since < 45*time.Second
		}
		busy := errors.New("database is locked")
		s.onSettle = func([]Settlement) error {
			if locked() {
				return busy
			}
			return nil
		}
		s.onClaim = func(ClaimRequest) error {
			if locked() {
				return busy
			}
			return nil
		}
		s.onRenew = func([]Lease) error {
			if locked() {
				return busy
			}
			return nil
		}
		var r recorder
		d, _ := start(t, s, Config{}, Destination{Name: "a", Sender: senderFunc(func(_ context.Context, d *Delivery) Outcome {
			r.note(d)
			time.Sleep(time.Second)
			return delivered()
		})})
		s.await(all(Published))
		if got := len(r.got()); got != 500 {
			t.Errorf("%d attempts for 500 events", got)
		}
		if st := d.Stats().Destinations[0]; st.LostLeases != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}

// A backup or a full disk may keep the store from writing for longer than any
// lease: that is no reason to deliver again.
func TestSettle_OutcomesOutliveAnyOutageOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 20 {
			s.put("", "a")
		}
		begin := time.Now()
		full := func() error {
			if since := time.Since(begin); since > 0 && since < 30*time.Minute {
				return errors.New("the disk is full")
			}
			return nil
		}
		s.onSettle = func([]Settlement) error { return full() }
		s.onClaim = func(ClaimRequest) error { return full() }
		s.onRenew = func([]Lease) error { return full() }
		var r recorder
		var log logLines
		start(t, s, Config{Logger: log.logger()}, Destination{Name: "a", Sender: senderFunc(func(_ context.Context, d *Delivery) Outcome {
			r.note(d)
			time.Sleep(time.Second)
			return delivered()
		})})
		s.await(all(Published))
		if got := len(r.got()); got != 20 {
			t.Errorf("%d attempts for 20 events", got)
		}
		if n := log.count("could not record outcomes"); n == 0 || n > 30*60+1 {
			t.Errorf("the log has %d lines about an outage of 30 minutes, want some and at most one a second", n)
		}
	})
}

func TestSettle_OneThatSpoilsItsTransactionIsIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		poison := s.put("", "a")
		for range 99 {
			s.put("", "a")
		}
		s.onSettle = func(x []Settlement) error {
			if slices.ContainsFunc(x, func(x Settlement) bool { return x.Lease.Seq == poison.Seq }) {
				return errors.New("constraint failed")
			}
			return nil
		}
		var r recorder
		start(t, s, Config{}, Destination{Name: "a", Sender: r.sender()})
		published := all(Published)
		s.await(func(rows []*memRow) bool { return published(rows[1:]) })
		// Its event is delivered again, but delays no other.
		for range 100 {
			begin := time.Now()
			s.put("", "a")
			s.await(func(rows []*memRow) bool { return published(rows[1:]) })
			if waited := time.Since(begin); waited > 3*time.Second {
				t.Fatalf("another event waited %v", waited)
			}
			time.Sleep(3 * time.Second)
		}
		// To the store it looks as if its process died each time.
		s.await(func(rows []*memRow) bool { return rows[0].status == DeadLetter && rows[0].kind == FailureCrash })
	})
}

func TestSettle_StoreThatIsStuckStopsClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 5000 {
			s.put("", "a")
		}
		stuck := make(chan struct{})
		s.onSettle = func([]Settlement) error { <-stuck; return nil }
		var r recorder
		d, _ := start(t, s, Config{Batch: 10}, Destination{Name: "a", MaxInFlight: 5, Sender: r.sender()})
		time.Sleep(time.Minute)
		if n := d.Stats().Destinations[0].Claimed; n > 4*10+5+2*10+10 {
			t.Errorf("%d were claimed while no outcome could be recorded", n)
		}
		close(stuck)
		s.await(all(Published))
	})
}

func TestChunk_KeepsGroupsWhole(t *testing.T) {
	group := func(n int) []entry {
		g := make([]entry, n)
		for i := range n - 1 {
			g[i].joined = true
		}
		return g
	}
	var entries []entry
	for _, n := range []int{1, 1, 3, 10, 1, 2} {
		entries = append(entries, group(n)...)
	}
	var sizes []int
	for len(entries) > 0 {
		n := chunk(entries, 4)
		sizes = append(sizes, n)
		entries = entries[n:]
	}
	if want := []int{2, 3, 10, 3}; !slices.Equal(sizes, want) {
		t.Errorf("chunks of %v, want %v", sizes, want)
	}
}
