package outbox

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Case D-02.
func TestLease_SlowEndpointGetsEachEventOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 20 {
			s.put("", "a")
		}
		for range 5 {
			s.put("k", "a")
		}
		var r recorder
		slow := senderFunc(func(ctx context.Context, d *Delivery) Outcome {
			r.note(d)
			time.Sleep(time.Second)
			return delivered()
		})
		cfg := Config{Lease: 2 * time.Second, Batch: 5}
		a, _ := start(t, s, cfg, Destination{Name: "a", MaxInFlight: 1, Timeout: 1500 * time.Millisecond, Sender: slow})
		b, _ := start(t, s, cfg, Destination{Name: "a", MaxInFlight: 1, Timeout: 1500 * time.Millisecond, Sender: slow})
		s.await(all(Published))
		if got := len(r.got()); got != 25 {
			t.Errorf("%d attempts for 25 events", got)
		}
		for _, d := range []*Dispatcher{a, b} {
			if st := d.Stats().Destinations[0]; st.LostLeases != 0 {
				t.Errorf("stats %+v", st)
			}
		}
	})
}

func TestLease_OfARunningAttemptIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		lines := &logLines{}
		d, _ := start(t, s, Config{Logger: lines.logger()}, Destination{Name: "a", Sender: senderFunc(func(ctx context.Context, d *Delivery) Outcome {
			<-ctx.Done()
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("context ended with %v", ctx.Err())
			}
			time.Sleep(10 * time.Minute) // ignores its context
			return delivered()
		})})
		synctest.Wait()
		var other recorder
		start(t, s, Config{}, Destination{Name: "a", Sender: other.sender()})
		s.await(all(Published))
		st := d.Stats()
		if len(other.got()) != 0 || st.Destinations[0].LostLeases != 0 {
			t.Errorf("another dispatcher made %d attempts; stats %+v", len(other.got()), st)
		}
		if st.Renewals < 10 {
			t.Errorf("%d renewals in 10 minutes", st.Renewals)
		}
		if got := lines.count("ignores its context"); got < 9 || got > 11 {
			t.Errorf("reported %d times in 10 minutes, want once a minute", got)
		}
	})
}

func TestLease_AttemptThatIgnoresItsContextKeepsItsPlaceInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 5 {
			s.put("", "a")
		}
		var inFlight, most atomic.Int32
		start(t, s, Config{}, Destination{Name: "a", MaxInFlight: 2, Timeout: time.Second, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			most.Store(max(most.Load(), inFlight.Add(1)))
			defer inFlight.Add(-1)
			time.Sleep(time.Minute)
			return delivered()
		})})
		s.await(all(Published))
		if most.Load() != 2 {
			t.Errorf("%d in flight, want 2", most.Load())
		}
	})
}

// Case D-03: A stalls, its lease ends, B takes over, and A reports late.
func TestLease_LateOutcomeOfALostLeaseChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		late Outcome
		want memRow
	}{
		"late failure after a success":   {failed("late"), memRow{status: Published}},
		"late rejection after a success": {Outcome{Result: Rejected}, memRow{status: Published}},
		"late success after a failure":   {delivered(), memRow{status: Pending, retries: 3}},
		"late success of a dead letter":  {delivered(), memRow{status: DeadLetter, retries: 20}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMemStore()
				e := s.put("", "a")
				stall := make(chan struct{})
				lines := &logLines{}
				a, stop := start(t, s, Config{Logger: lines.logger()}, Destination{Name: "a", Sender: senderFunc(func(context.Context, *Delivery) Outcome {
					<-stall
					return c.late
				})})
				synctest.Wait()
				s.mu.Lock()
				row := s.rows[0]
				row.status, row.retries, row.token, row.due = c.want.status, c.want.retries, 0, time.Now().Add(1000*time.Hour) // by B
				s.mu.Unlock()
				close(stall)
				synctest.Wait()
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				if row.status != c.want.status || row.retries != c.want.retries {
					t.Errorf("the row became %+v", row)
				}
				if st := a.Stats().Destinations[0]; st.LostLeases != 1 || st.Delivered != 0 || st.Failed != 0 || st.DeadLetters != 0 {
					t.Errorf("stats %+v, want one lost lease", st)
				}
				if lines.count("lease lost") == 0 || lines.count(e.ID.String()) == 0 {
					t.Error("the lost lease was not logged")
				}
			})
		})
	}
}

// A store that was locked for longer than the lease: nobody else has claimed.
func TestLease_ThatEndedWhileItsAttemptRunsIsTakenUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("k", "a")
		var r recorder
		s.onRenew = func([]Lease) error { return errors.New("database is locked") }
		d, _ := start(t, s, Config{}, Destination{Name: "a", Sender: senderFunc(func(_ context.Context, d *Delivery) Outcome {
			r.note(d)
			time.Sleep(10 * time.Minute)
			return delivered()
		})})
		s.await(all(Published))
		if got := len(r.got()); got != 1 {
			t.Errorf("%d attempts, want the first to go on", got)
		}
		if st := d.Stats().Destinations[0]; st.LostLeases != 0 || st.Delivered != 1 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestLease_FoundLostByARenewalCancelsTheAttemptWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		causes := make(chan error, 1)
		a, stopA := start(t, s, Config{}, Destination{Name: "a", Sender: senderFunc(func(ctx context.Context, _ *Delivery) Outcome {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return failed(ctx.Err().Error())
		})})
		synctest.Wait()
		s.mu.Lock()
		s.rows[0].token++ // another worker has it
		s.rows[0].due = time.Now().Add(time.Hour)
		s.mu.Unlock()
		if cause := <-causes; !errors.Is(cause, ErrLeaseLost) {
			t.Errorf("cause %v, want ErrLeaseLost", cause)
		}
		if err := stopA(); err != nil {
			t.Fatal(err)
		}
		if st := a.Stats().Destinations[0]; st.LostLeases != 1 || st.Failed != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestLease_WorkerMakesFurtherAttemptsAfterALostOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		first := s.put("", "a")
		start(t, s, Config{}, Destination{Name: "a", MaxInFlight: 1, Sender: senderFunc(func(ctx context.Context, d *Delivery) Outcome {
			if d.Seq == first.Seq {
				<-ctx.Done()
			}
			if ctx.Err() != nil {
				return failed(ctx.Err().Error())
			}
			return delivered()
		})})
		synctest.Wait()
		s.mu.Lock()
		s.rows[0].status = Published
		s.mu.Unlock()
		for range 3 {
			s.put("", "a")
		}
		s.await(all(Published))
	})
}

func TestLease_ThatNoLongerCoversAnAttemptIsRenewedOrGivenBack(t *testing.T) {
	for name, renews := range map[string]bool{"renewed": true, "given back": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMemStore()
				for range 3 {
					s.put("k", "a")
				}
				if !renews {
					s.onRenew = func([]Lease) error { return errors.New("busy") }
				}
				var ends []time.Duration
				start(t, s, Config{Lease: 3 * time.Second}, Destination{Name: "a", Timeout: 2 * time.Second, Sender: senderFunc(func(ctx context.Context, d *Delivery) Outcome {
					s.mu.Lock()
					ends = append(ends, time.Until(s.rows[d.Seq-1].due))
					s.mu.Unlock()
					time.Sleep(1900 * time.Millisecond)
					return delivered()
				})})
				s.await(all(Published))
				if len(ends) != 3 {
					t.Fatalf("%d attempts", len(ends))
				}
				for i, end := range ends {
					if end < 2*time.Second {
						t.Errorf("attempt %d started with %v of its lease left, for a timeout of 2s", i, end)
					}
				}
			})
		})
	}
}
