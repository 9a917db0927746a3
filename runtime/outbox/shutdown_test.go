package outbox

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestShutdown_FinishesWhatIsInFlightAndGivesBackTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 3 {
			s.put("k", "a")
		}
		for range 50 {
			s.put("", "a")
		}
		var r recorder
		d, stop := start(t, s, Config{}, Destination{Name: "a", MaxInFlight: 4, Sender: senderFunc(func(ctx context.Context, d *Delivery) Outcome {
			r.note(d)
			time.Sleep(5 * time.Second)
			if ctx.Err() != nil {
				t.Error("an attempt was cancelled within the shutdown timeout")
			}
			return delivered()
		})})
		time.Sleep(time.Second)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		sent := map[int64]bool{}
		for _, seq := range r.got() {
			sent[seq] = true
		}
		if len(sent) != 4 {
			t.Errorf("%d attempts, want the 4 that were in flight", len(sent))
		}
		for _, row := range s.rows {
			want := Pending
			if sent[row.event.Seq] {
				want = Published
			}
			if row.status != want || row.retries != 0 {
				t.Errorf("event %d is %s after %d retries, want %s", row.event.Seq, row.status, row.retries, want)
			}
		}
		if st := d.Stats().Destinations[0]; st.InFlight != 0 || st.Buffered != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestShutdown_CancelsAttemptsAfterItsTimeoutAndSpendsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		var cause error
		_, stop := start(t, s, Config{ShutdownTimeout: 2 * time.Second}, Destination{Name: "a", Timeout: time.Hour, Sender: senderFunc(func(ctx context.Context, _ *Delivery) Outcome {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return failed("cancelled")
		})})
		synctest.Wait()
		begin := time.Now()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("shutdown took %v, want its timeout", took)
		}
		if !errors.Is(cause, ErrShutdown) {
			t.Errorf("cause %v, want ErrShutdown", cause)
		}
		if row := s.rows[0]; row.status != Pending || row.retries != 0 {
			t.Errorf("row %+v, want it given back", row)
		}
	})
}

func TestShutdown_WaitsForAHandlerThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		returned := false
		_, stop := start(t, s, Config{ShutdownTimeout: time.Second}, Destination{Name: "a", Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			time.Sleep(10 * time.Minute)
			returned = true
			return delivered()
		})})
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if !returned {
			t.Error("Run returned while a handler was running")
		}
		if s.rows[0].status != Published {
			t.Errorf("the outcome was lost: %s", s.rows[0].status)
		}
	})
}

func TestShutdown_RecordsOutcomesThroughABusyStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 20 {
			s.put("", "a")
		}
		busyUntil := time.Now().Add(10 * time.Second)
		s.onSettle = func([]Settlement) error {
			if time.Now().Before(busyUntil) {
				return errors.New("database is locked")
			}
			return nil
		}
		var r recorder
		_, stop := start(t, s, Config{}, Destination{Name: "a", MaxInFlight: 20, Sender: r.sender()})
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got := len(r.got()); got != 20 || !all(Published)(s.rows) {
			t.Errorf("%d attempts; an outcome was lost", got)
		}
	})
}

func TestShutdown_SaysWhatCouldNotBeRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 7 {
			s.put("", "a")
		}
		s.onSettle = func([]Settlement) error { return errors.New("disk full") }
		var r recorder
		d, err := NewDispatcher(s, []Destination{{Name: "a", Sender: r.sender()}}, Config{ShutdownTimeout: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- d.Run(ctx) }()
		synctest.Wait()
		begin := time.Now()
		cancel()
		err = <-done
		if err == nil || !strings.Contains(err.Error(), "7 outcomes could not be recorded") || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("shutdown took %v", took)
		}
	})
}

func TestShutdown_ReturnsTheErrorOfAStartThatFailed(t *testing.T) {
	d, err := NewDispatcher(brokenStore{}, nil, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "mend") {
		t.Errorf("Run: %v", err)
	}
}

type brokenStore struct{ Store }

func (brokenStore) Mend(context.Context) (int, error) { return 0, errors.New("file is not a database") }
