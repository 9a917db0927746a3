package outbox

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// logLines keeps what NewJSONLog writes.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logLines) logger() *slog.Logger { return slog.New(NewJSONLog(l, slog.LevelDebug)) }

func (l *logLines) lines(t *testing.T) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []map[string]any
	for line := range strings.Lines(l.buf.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("not one JSON object a line: %v\n%s", err, line)
		}
		out = append(out, m)
	}
	return out
}

func (l *logLines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), part)
}

func TestNewJSONLog_RenamesTimeAndMessage(t *testing.T) {
	lines := &logLines{}
	log := lines.logger()
	log.Info("hello", "n", 1, slog.Group("g", "time", "kept", "msg", "kept"))
	m := lines.lines(t)[0]
	at, err := time.Parse(time.RFC3339Nano, m["timestamp"].(string))
	if err != nil || at.Location() != time.UTC {
		t.Errorf("timestamp %v: %v", m["timestamp"], err)
	}
	if m["message"] != "hello" || m["level"] != "INFO" || m["n"] != 1.0 {
		t.Errorf("got %v", m)
	}
	if g := m["g"].(map[string]any); g["time"] != "kept" || g["msg"] != "kept" {
		t.Errorf("group %v was changed", g)
	}
	if _, there := m["msg"]; there {
		t.Error("msg is still there")
	}
	if slog.New(NewJSONLog(lines, nil)).Enabled(t.Context(), slog.LevelDebug) {
		t.Error("a nil level lets debug through")
	}
}

func TestDispatcher_LogsThePauseOfAnOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		s.put("", "a")
		lines := &logLines{}
		_, stop := start(t, s, Config{Logger: lines.logger()}, Destination{
			Name:    "a",
			Breaker: newBreaker(t, breaker.Config{FailureThreshold: 1}),
			Sender:  senderFunc(func(context.Context, *Delivery) Outcome { return failed("down") }),
		})
		time.Sleep(5 * time.Second) // of the bubble: the breaker stays open for 10 s
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		var paused []map[string]any
		for _, m := range lines.lines(t) {
			if m["message"] == "destination paused" {
				paused = append(paused, m)
			}
		}
		if len(paused) != 1 || paused[0]["level"] != "WARN" || paused[0]["destination"] != "a" || paused[0]["reason"] != "circuit breaker is open" {
			t.Errorf("got %v", paused)
		}
	})
}

func TestDispatcher_LogsAnOutcomeWithItsFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemStore()
		e := s.put("", "a")
		lines := &logLines{}
		_, stop := start(t, s, Config{Logger: lines.logger()}, Destination{Name: "a", Retry: RetryPolicy{MaxAttempts: 2}, Sender: senderFunc(func(context.Context, *Delivery) Outcome {
			return failed("busy")
		})})
		s.await(all(DeadLetter))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		for i, want := range []map[string]any{
			{"message": "attempt failed: will be retried", "level": "WARN", "retry_count": 1.0},
			{"message": "dead letter", "level": "ERROR", "retry_count": 2.0, "failure_kind": "exhausted"},
		} {
			got := lines.lines(t)[i]
			want["event_id"], want["event_type"], want["destination"], want["idempotency_key"] = e.ID.String(), e.Type, "a", e.IdempotencyKey
			want["status_code"], want["error"], want["cause"] = 503.0, "busy", "status"
			for k, v := range want {
				if got[k] != v {
					t.Errorf("line %d: %s is %v, want %v", i, k, got[k], v)
				}
			}
		}
		if _, ok := lines.lines(t)[0]["backoff_seconds"].(float64); !ok {
			t.Error("the retry has no backoff_seconds")
		}
	})
}
