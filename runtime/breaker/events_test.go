package breaker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// eventLog collects what a breaker logs as JSON lines.
type eventLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func newEventLog() *eventLog { return new(eventLog) }

func (l *eventLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *eventLog) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				a.Key = "timestamp"
			}
			return a
		},
	}))
}

func (l *eventLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// lines parses what was logged: every line must be a JSON object.
func (l *eventLog) lines(t testing.TB) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(l.text()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}

func (l *eventLog) count(event string) int {
	return strings.Count(l.text(), fmt.Sprintf(`"event":%q`, event))
}

func (l *eventLog) names(t testing.TB) []string {
	t.Helper()
	var names []string
	for _, m := range l.lines(t) {
		names = append(names, m["event"].(string))
	}
	return names
}

var fields = []string{"timestamp", "circuit_name", "state", "event", "latency_ms", "consecutive_failures",
	"half_open_successes", "backoff_seconds", "remaining_seconds", "error_type", "generation"}

func TestEvents_FullCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newEventLog()
		b := newBreaker(t, breaker.Config{Name: "billing", Logger: log.logger(), Detail: breaker.EveryCall, Random: highest})
		call := func(err error) {
			_, _ = breaker.Do(t.Context(), b, func(context.Context) (struct{}, error) {
				time.Sleep(20 * time.Millisecond)
				return struct{}{}, err
			})
		}
		call(nil)
		for range 3 {
			call(errDown)
		}
		call(nil) // refused
		time.Sleep(10 * time.Second)
		call(errDown)
		time.Sleep(20 * time.Second)
		call(breaker.Ignore(errDown))
		call(nil)
		call(nil)
		if err := b.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"call_succeeded",
			"call_failed", "call_failed", "call_failed", "state_transition_closed_to_open",
			"call_rejected_circuit_open",
			"state_transition_open_to_half_open", "call_failed", "state_transition_half_open_to_open",
			"state_transition_open_to_half_open", "call_ignored", "call_succeeded",
			"call_succeeded", "state_transition_half_open_to_closed",
		}
		if got := log.names(t); !slices.Equal(got, want) {
			t.Fatalf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		lines := log.lines(t)
		for _, m := range lines {
			for _, f := range fields {
				if _, ok := m[f]; !ok {
					t.Errorf("%v: no %s", m["event"], f)
				}
			}
			if m["circuit_name"] != "billing" || m["latency_ms"].(float64) < 0 || m["remaining_seconds"].(float64) < 0 {
				t.Errorf("event %v", m)
			}
			if m["state"] != "OPEN" && m["remaining_seconds"] != 0.0 {
				t.Errorf("time remains outside of OPEN: %v", m)
			}
		}
		opened := lines[4]
		for key, want := range map[string]any{
			"state": "OPEN", "consecutive_failures": 3.0, "remaining_seconds": 10.0, "backoff_seconds": 0.5,
			"latency_ms": 20.0, "error_type": "*errors.errorString", "reason": "failures", "level": "WARN",
		} {
			if opened[key] != want {
				t.Errorf("opening: %s is %v, want %v", key, opened[key], want)
			}
		}
		if closed := lines[13]; closed["half_open_successes"] != 2.0 || closed["state"] != "CLOSED" {
			t.Errorf("closing: %v", closed)
		}
	})
}

func TestEvents_TransitionsOnlyByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newEventLog()
		b := newBreaker(t, breaker.Config{Logger: log.logger()})
		report(t, b, breaker.Success, 10)
		report(t, b, breaker.Failure, 3)
		time.Sleep(b.RetryIn())
		report(t, b, breaker.Success, 2)
		synctest.Wait()
		want := []string{"state_transition_closed_to_open", "state_transition_open_to_half_open", "state_transition_half_open_to_closed"}
		if got := log.names(t); !slices.Equal(got, want) {
			t.Fatalf("events %v, want %v", got, want)
		}
	})
}

// Refusals are sampled, and the samples account for every one.
func TestEvents_RefusalsAreSampledWithACount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newEventLog()
		b := newBreaker(t, breaker.Config{Logger: log.logger()})
		report(t, b, breaker.Failure, 3)
		const each = 1000
		for range 10 { // over 5 seconds
			for range each {
				refusal(t, b, breaker.ReasonOpen)
			}
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		report(t, b, breaker.Success, 1)
		synctest.Wait()
		var events, calls float64
		for _, m := range log.lines(t) {
			if m["event"] == "call_rejected_circuit_open" {
				events++
				calls += m["rejected_calls"].(float64)
				if m["reason"] != "open" {
					t.Errorf("event %v", m)
				}
			}
		}
		if calls != 10*each || events > 7 {
			t.Fatalf("%v events tell of %v refusals, want at most 7 and %d", events, calls, 10*each)
		}
	})
}

// What a sample left out is told at the transition, and the first refusal
// after it at once.
func TestEvents_RefusalsOfEachEraAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newEventLog()
		b := newBreaker(t, breaker.Config{Logger: log.logger()})
		report(t, b, breaker.Failure, 2)
		p := acquire(t, b)
		for range 3 {
			refusal(t, b, breaker.ReasonSuspect)
		}
		p.Done(breaker.Failure)
		for range 5 {
			refusal(t, b, breaker.ReasonOpen)
		}
		synctest.Wait()
		var told []string
		for _, m := range log.lines(t) {
			told = append(told, fmt.Sprintln(m["event"], m["reason"], m["rejected_calls"]))
		}
		want := []string{"call_rejected_circuit_open suspect 1\n", "call_rejected_circuit_open suspect 2\n",
			"state_transition_closed_to_open failures <nil>\n", "call_rejected_circuit_open open 1\n"}
		if !slices.Equal(told, want) {
			t.Fatalf("told\n%s\nwant\n%s", strings.Join(told, ""), strings.Join(want, ""))
		}
	})
}

func TestEvents_EveryRefusalOnceWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newEventLog()
		b := newBreaker(t, breaker.Config{Logger: log.logger(), Detail: breaker.EveryCall})
		report(t, b, breaker.Failure, 2)
		p := acquire(t, b)
		refusal(t, b, breaker.ReasonSuspect)
		p.Done(breaker.Failure)
		refusal(t, b, breaker.ReasonOpen)
		b.ForceOpen()
		refusal(t, b, breaker.ReasonForced)
		synctest.Wait()
		var reasons []any
		for _, m := range log.lines(t) {
			if m["event"] == "call_rejected_circuit_open" {
				reasons = append(reasons, m["reason"])
			}
		}
		if want := []any{"suspect", "open", "forced"}; !slices.Equal(reasons, want) {
			t.Fatalf("refusals %v, want %v", reasons, want)
		}
	})
}

func TestEvents_HostileNames(t *testing.T) {
	for _, name := range []string{"a\nb", `quo"te`, "bad\xff\xfeutf8", "\x00\x1b[31m", `{"event":"forged"}`, "</script>"} {
		synctest.Test(t, func(t *testing.T) {
			log := newEventLog()
			b := newBreaker(t, breaker.Config{Name: name, Logger: log.logger()})
			report(t, b, breaker.Failure, 3)
			synctest.Wait()
			lines := log.lines(t)
			if len(lines) != 1 || lines[0]["circuit_name"] != strings.ToValidUTF8(name, "\ufffd") &&
				lines[0]["circuit_name"] != "bad\ufffd\ufffdutf8" {
				t.Fatalf("name %q logged as %v", name, lines)
			}
		})
	}
}

type classedError struct{ error }

func (classedError) ErrorType() string { return "my_class" }

func TestEvents_ErrorTypesHoldNoSecrets(t *testing.T) {
	secret := &url.Error{Op: "Post", URL: "https://user:hunter2@example.org/?token=hunter2", Err: errors.New("hunter2")}
	for _, c := range []struct {
		err  error
		want string
	}{
		{secret, "*url.Error"},
		{fmt.Errorf("try 3: %w", fmt.Errorf("hunter2: %w", secret)), "*url.Error"},
		{errors.Join(secret, errDown), "*errors.joinError"},
		{context.DeadlineExceeded, "timeout"},
		{fmt.Errorf("post: %w", &url.Error{Err: context.DeadlineExceeded}), "timeout"},
		{fmt.Errorf("post: %w", classedError{errDown}), "my_class"},
		{errors.New("hunter2"), "*errors.errorString"},
	} {
		synctest.Test(t, func(t *testing.T) {
			log := newEventLog()
			b := newBreaker(t, breaker.Config{FailureThreshold: 1, Logger: log.logger()})
			_, _ = breaker.Do(t.Context(), b, func(context.Context) (struct{}, error) { return struct{}{}, c.err })
			synctest.Wait()
			if got := log.lines(t)[0]["error_type"]; got != c.want {
				t.Errorf("%T: error_type %v, want %v", c.err, got, c.want)
			}
			if strings.Contains(log.text(), "hunter2") {
				t.Errorf("a secret was logged: %s", log.text())
			}
		})
	}
}

func TestEvents_PanicHasAType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newEventLog()
		b := newBreaker(t, breaker.Config{FailureThreshold: 1, Logger: log.logger()})
		func() {
			defer func() { _ = recover() }()
			_, _ = breaker.Do(t.Context(), b, panicDeepInTheCall)
		}()
		synctest.Wait()
		if got := log.lines(t)[0]["error_type"]; got != "panic" {
			t.Fatalf("error_type %v", got)
		}
	})
}

// blockedHandler stands for a logger that is stuck until it is released.
type blockedHandler struct {
	slog.Handler
	release chan struct{}
}

func (h blockedHandler) Handle(ctx context.Context, r slog.Record) error {
	<-h.release
	return h.Handler.Handle(ctx, r)
}

// A stuck logger holds up no call, costs bounded memory, and loses no
// transition.
func TestEvents_StuckLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, release := newEventLog(), make(chan struct{})
		b := newBreaker(t, breaker.Config{
			Logger: slog.New(blockedHandler{log.logger().Handler(), release}), Detail: breaker.EveryCall})
		report(t, b, breaker.Success, 5000)
		for range 100 {
			report(t, b, breaker.Failure, 3)
			b.Reset()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Flush of a stuck logger: %v", err)
		}
		close(release)
		if err := b.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := log.count("state_transition_closed_to_open"); n != 100 {
			t.Fatalf("%d of 100 openings logged", n)
		}
		if n := len(log.lines(t)); n > 1024+300 {
			t.Fatalf("%d events waited", n)
		}
		if b.Counts().LostEvents == 0 {
			t.Fatal("lost events are not counted")
		}
	})
}

type panickyHandler struct{ slog.Handler }

func (panickyHandler) Handle(context.Context, slog.Record) error { panic("logger") }

func TestEvents_LoggerPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hooked int
		b := newBreaker(t, breaker.Config{
			Logger:       slog.New(panickyHandler{slog.DiscardHandler}),
			OnTransition: func(breaker.Transition) { hooked++ },
		})
		b.ForceOpen()
		_ = b.Flush(t.Context())
		if b.Counts().HookFailures != 0 { // DiscardHandler is never enabled
			t.Fatal("a disabled handler was called")
		}
		b = newBreaker(t, breaker.Config{
			Logger:       slog.New(panickyHandler{slog.NewTextHandler(newEventLog(), nil)}),
			OnTransition: func(breaker.Transition) { hooked++ },
		})
		b.ForceOpen()
		_ = b.Flush(t.Context())
		if hooked != 2 || b.Counts().HookFailures != 1 {
			t.Fatalf("%d hooks ran, %d failures", hooked, b.Counts().HookFailures)
		}
	})
}
