package outbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// settleOf delivers one event through a sender that answers out once and then
// succeeds, and returns the row after the first answer was recorded, and its
// settlement.
func settleOf(t *testing.T, dest Destination, out Outcome) (row memRow, first Settlement, s *memStore) {
	t.Helper()
	answered := false
	dest.Name = "a"
	dest.Sender = senderFunc(func(context.Context, *Delivery) Outcome {
		if answered {
			return delivered()
		}
		answered = true
		return out
	})
	s = newMemStore()
	s.put("", "a")
	_, stop := start(t, s, Config{}, dest)
	s.await(func(rows []*memRow) bool {
		if len(s.settled) == 0 {
			return false
		}
		row, first = *rows[0], s.settled[0][0]
		return true
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	return row, first, s
}

// The table of the design's section 8.
func TestAnswer_IsSettledAsTheTableSays(t *testing.T) {
	failure := &Failure{Cause: "status", StatusCode: 500, Message: "no"}
	for _, c := range []struct {
		name    string
		out     Outcome
		want    Settlement // Lease, Delay and Failure aside
		status  Status
		retries int
		failure bool
	}{
		{"delivered", Outcome{Result: Delivered}, Settlement{Verdict: Deliver, Attempted: true}, Published, 0, false},
		{"failed", Outcome{Result: Failed, Failure: failure}, Settlement{Verdict: Retry, Attempted: true, Spent: true}, Pending, 1, true},
		{"rejected", Outcome{Result: Rejected, Failure: failure}, Settlement{Verdict: Quarantine, Attempted: true, Spent: true, Kind: FailurePermanent}, DeadLetter, 1, true},
		{"undecodable", Outcome{Result: Rejected, Failure: &Failure{Cause: CauseUndecodable}}, Settlement{Verdict: Quarantine, Attempted: true, Spent: true, Kind: FailureUndecodable}, DeadLetter, 1, true},
		{"paused", Outcome{Result: Paused, PauseFor: time.Minute, Failure: failure}, Settlement{Verdict: Retry, Attempted: true}, Pending, 0, true},
		{"disabled", Outcome{Result: Disabled, Failure: failure}, Settlement{Verdict: Retry, Attempted: true}, Pending, 0, true},
		{"local fault", Outcome{Result: LocalFault, Failure: failure}, Settlement{Verdict: Retry, Attempted: true}, Pending, 0, true},
		{"unknown", Outcome{Result: Unknown, Failure: failure}, Settlement{Verdict: GiveBack}, Pending, 0, false},
		{"cancelled", Outcome{Result: Cancelled}, Settlement{Verdict: GiveBack}, "", 0, false}, // and claimed again at once
		{"no result", Outcome{}, Settlement{Verdict: Retry, Attempted: true, Spent: true}, Pending, 1, true},
		{"no such result", Outcome{Result: 99}, Settlement{Verdict: Retry, Attempted: true, Spent: true}, Pending, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				row, got, _ := settleOf(t, Destination{}, c.out)
				if (got.Failure != nil) != c.failure {
					t.Errorf("failure %+v", got.Failure)
				}
				got.Lease, got.Delay, got.Failure = Lease{}, 0, nil
				if got != c.want {
					t.Errorf("settlement %+v, want %+v", got, c.want)
				}
				if c.status != "" && row.status != c.status || row.retries != c.retries {
					t.Errorf("%s after %d retries, want %s after %d", row.status, row.retries, c.status, c.retries)
				}
			})
		})
	}
}

func TestAnswer_LastAttemptMakesADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		attempts := 0
		start(t, s, Config{}, Destination{Name: "a", Retry: RetryPolicy{MaxAttempts: 3}, Sender: senderFunc(func(_ context.Context, d *Delivery) Outcome {
			attempts++
			if d.Attempt() != attempts {
				t.Errorf("attempt number %d is told as %d", attempts, d.Attempt())
			}
			return failed("no")
		})})
		s.await(all(DeadLetter))
		if attempts != 3 || s.rows[0].kind != FailureExhausted || s.rows[0].retries != 3 {
			t.Errorf("%d attempts, kind %s, %d retries; want 3, exhausted, 3", attempts, s.rows[0].kind, s.rows[0].retries)
		}
	})
}

func TestAnswer_BackoffGrowsWithTheAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		var at []time.Time
		d, err := NewDispatcher(s, []Destination{{Name: "a", Retry: RetryPolicy{MaxAttempts: 4, Base: 3 * time.Second, Cap: 5 * time.Second}, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			at = append(at, time.Now())
			return failed("no")
		})}}, Config{})
		if err != nil {
			t.Fatal(err)
		}
		d.random = func() float64 { return 1 }
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- d.Run(ctx) }()
		s.await(all(DeadLetter))
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for i, want := range []time.Duration{3 * time.Second, 5 * time.Second, 5 * time.Second} {
			if got := at[i+1].Sub(at[i]); got != want {
				t.Errorf("wait %d was %v, want %v", i+1, got, want)
			}
		}
	})
}

func TestAnswer_PausedPausesTheDestinationBeforeItIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.onSettle = func([]Settlement) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.settled) == 0 && len(s.changes) == 0 {
				t.Error("settled before the pause is stored: another process could claim in between")
			}
			return nil
		}
		s.put("", "a")
		var at []time.Time
		_, stop := start(t, s, Config{PollInterval: time.Hour}, Destination{Name: "a", Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			at = append(at, time.Now())
			if len(at) == 1 {
				return Outcome{Result: Paused, PauseFor: 48 * time.Hour}
			}
			return delivered()
		})})
		s.await(all(Published))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got := at[1].Sub(at[0]); got != maxPause {
			t.Errorf("came back after %v, want the cap %v", got, maxPause)
		}
		if c := s.changes[0]; c.Action != Pause || c.For != maxPause {
			t.Errorf("stored %+v", c)
		}
	})
}

func TestAnswer_APauseIsLiftedWhenTheStoreForgetsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row, _, s := settleOf(t, Destination{}, Outcome{Result: Paused, PauseFor: time.Hour})
		if row.status != Pending {
			t.Fatal(row.status)
		}
		var r recorder
		start(t, s, Config{PollInterval: time.Second}, Destination{Name: "a", Sender: r.sender()})
		time.Sleep(time.Minute)
		if len(r.got()) != 0 {
			t.Fatal("sent while paused")
		}
		if err := s.SetDestination(t.Context(), DestinationChange{Destination: "a", Action: Resume}); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		s.await(all(Published))
		if waited := time.Since(begin); waited > time.Second {
			t.Errorf("delivered %v after the pause was lifted, want within a poll", waited)
		}
	})
}

func TestAnswer_DisabledWaitsUntilEnabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		attempts := 0
		start(t, s, Config{}, Destination{Name: "a", Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			attempts++
			if attempts == 1 {
				return Outcome{Result: Disabled, Failure: &Failure{StatusCode: 410, Message: "gone"}}
			}
			return delivered()
		})})
		time.Sleep(time.Hour)
		synctest.Wait()
		if attempts != 1 || s.off["a"] != "gone" {
			t.Fatalf("%d attempts, disabled for %q", attempts, s.off["a"])
		}
		if err := s.SetDestination(t.Context(), DestinationChange{Destination: "a", Action: Enable}); err != nil {
			t.Fatal(err)
		}
		s.await(all(Published))
		if s.rows[0].retries != 0 {
			t.Errorf("%d attempts spent, want none", s.rows[0].retries)
		}
	})
}

func TestAnswer_LocalFaultPausesLongerAndLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		var at []time.Time
		start(t, s, Config{}, Destination{Name: "a", Retry: RetryPolicy{MaxAttempts: 2}, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			at = append(at, time.Now())
			if len(at) < 5 {
				return Outcome{Result: LocalFault, Failure: &Failure{Cause: "address"}}
			}
			return delivered()
		})})
		s.await(all(Published))
		for i, want := range []time.Duration{5, 10, 20, 40} {
			if got := at[i+1].Sub(at[i]); got != want*time.Second {
				t.Errorf("pause %d was %v, want %v", i+1, got, want*time.Second)
			}
		}
		if len(s.changes) != 0 {
			t.Errorf("a fault of this process was stored for all: %+v", s.changes)
		}
	})
}

func TestAnswer_LocalFaultOfOneEventLetsOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		bad := s.put("", "a")
		start(t, s, Config{}, Destination{Name: "a", Sender: senderFunc(func(_ context.Context, d *Delivery) Outcome {
			if d.Seq == bad.Seq {
				return Outcome{Result: LocalFault}
			}
			return delivered()
		})})
		for range 10 {
			s.put("", "a")
		}
		published := all(Published)
		s.await(func(rows []*memRow) bool { return published(rows[1:]) })
	})
}

func TestAnswer_UnknownTypesComeBackAndAreReportedOncePerType(t *testing.T) {
	for name, dest := range map[string]Destination{
		"by Knows":  {Knows: func(string, int) bool { return false }, Sender: senderFunc(nil)},
		"by answer": {Sender: senderFunc(func(context.Context, *Delivery) Outcome { return Outcome{Result: Unknown} })},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMemStore()
				for range 3 {
					s.put("", "a")
				}
				log := &logLines{}
				dest.Name = "a"
				d, _ := start(t, s, Config{Logger: log.logger()}, dest)
				time.Sleep(5*UnknownDelay + time.Second)
				synctest.Wait()
				if got := log.count("does not know"); got != 1 {
					t.Errorf("reported %d times, want once", got)
				}
				st := d.Stats().Destinations[0]
				if st.GivenBack < 15 || st.GivenBack > 18 || st.Failed != 0 {
					t.Errorf("stats %+v, want each of 3 given back every %v", st, UnknownDelay)
				}
			})
		})
	}
}

func TestAnswer_PanicIsAFailedAttemptWithItsStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		b := newBreaker(t, breaker.Config{FailureThreshold: 1})
		d, _ := start(t, s, Config{}, Destination{Name: "a", Breaker: b, Retry: RetryPolicy{MaxAttempts: 1}, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			panic("at the disco")
		})})
		s.await(all(DeadLetter))
		message := s.rows[0].lastError
		if !strings.HasPrefix(message, "panic: at the disco\n") || !strings.Contains(message, "goroutine") {
			t.Errorf("recorded %q", message)
		}
		if b.State() != breaker.Open {
			t.Error("the breaker was not told")
		}
		if d.Stats().Destinations[0].Panics != 1 {
			t.Errorf("stats %+v", d.Stats())
		}
	})
}

func TestAnswer_GoexitIsAFailedAttemptAndTheWorkerIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		for range 5 {
			s.put("k", "a")
		}
		sent := 0
		start(t, s, Config{}, Destination{Name: "a", MaxInFlight: 1, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			sent++
			if sent%2 == 1 {
				runtime.Goexit()
			}
			return delivered()
		})})
		s.await(all(Published))
	})
}

func TestComplete_MakesMessagesStorable(t *testing.T) {
	for _, message := range []string{"short", "bad \xff\xfe bytes", strings.Repeat("é", 5000), strings.Repeat("\xff", 5000), "x" + strings.Repeat("日", 2000), ""} {
		got := storable(message)
		if len(got) > maxFailureMessage || !utf8.ValidString(got) {
			t.Errorf("%.20q…: %d bytes, valid %v", message, len(got), utf8.ValidString(got))
		}
		if len(message) <= maxFailureMessage && utf8.ValidString(message) && got != message {
			t.Errorf("changed %q", message)
		}
	}
}

func TestHandlerSender_MapsErrors(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancelLate()
	boom := errors.New("boom")
	for _, c := range []struct {
		name    string
		ctx     context.Context
		err     error
		result  Result
		breaker breaker.Outcome
		cause   string
	}{
		{"nil", t.Context(), nil, Delivered, breaker.Success, ""},
		{"nil after the deadline", late, nil, Delivered, breaker.Success, ""},
		{"error", t.Context(), boom, Failed, breaker.Failure, CauseHandler},
		{"permanent", t.Context(), fmt.Errorf("wrapped: %w", Permanent(boom)), Rejected, breaker.Neutral, CausePermanent},
		{"undecodable", t.Context(), Undecodable(boom), Rejected, breaker.Neutral, CauseUndecodable},
		{"unknown", t.Context(), fmt.Errorf("v9: %w", ErrUnknownEvent), Unknown, breaker.Neutral, CauseUnknown},
		{"timeout", late, context.DeadlineExceeded, Failed, breaker.Failure, CauseTimeout},
		{"another timeout", t.Context(), context.DeadlineExceeded, Failed, breaker.Failure, CauseHandler},
		{"cancelled by us", cancelled, context.Canceled, Cancelled, breaker.Neutral, CauseCancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := handlerSender{func(context.Context, *Delivery) error { return c.err }, CauseHandler}.Send(c.ctx, &Delivery{})
			cause := ""
			if out.Failure != nil {
				cause = out.Failure.Cause
				if c.err != nil && !strings.Contains(out.Failure.Message, c.err.Error()) {
					t.Errorf("message %q", out.Failure.Message)
				}
			}
			if out.Result != c.result || out.Breaker != c.breaker || cause != c.cause {
				t.Errorf("got %v %v %q, want %v %v %q", out.Result, out.Breaker, cause, c.result, c.breaker, c.cause)
			}
		})
	}
	if Permanent(nil) != nil || Undecodable(nil) != nil {
		t.Error("a nil error was marked")
	}
	if !errors.Is(Permanent(boom), boom) || !errors.Is(Undecodable(boom), boom) {
		t.Error("the marked error cannot be found")
	}
}

// Case D-04: an endpoint that always times out.
func TestAnswer_TimeoutsAreSpentLikeAnyFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		attempts := 0
		dest, err := HandlerDestination("a", HandlerFunc(func(ctx context.Context, _ *Delivery) error {
			attempts++
			<-ctx.Done()
			return ctx.Err()
		}), HandlerConfig{Timeout: time.Second, Retry: RetryPolicy{MaxAttempts: 3}})
		if err != nil {
			t.Fatal(err)
		}
		d, stop := start(t, s, Config{}, dest)
		s.await(all(DeadLetter))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if attempts != 3 || s.rows[0].kind != FailureExhausted || s.rows[0].lastError != context.DeadlineExceeded.Error() {
			t.Errorf("%d attempts, %s: %q", attempts, s.rows[0].kind, s.rows[0].lastError)
		}
		if st := d.Stats().Destinations[0]; st.Failed != 3 || st.DeadLetters != 1 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestAnswer_MaxAgeIsAskedOfTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		d, stop := start(t, s, Config{}, Destination{Name: "a", MaxAge: time.Minute, Retry: RetryPolicy{Base: 10 * time.Second, Cap: 10 * time.Second}, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			return failed("no")
		})})
		s.await(all(DeadLetter))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if s.rows[0].kind != FailureExpired || d.Stats().Destinations[0].DeadLetters != 1 {
			t.Errorf("kind %s, stats %+v", s.rows[0].kind, d.Stats())
		}
	})
}
