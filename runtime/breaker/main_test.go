package breaker_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("endpoint down")

// rounds is how often the checks of concurrent behaviour run.
func rounds() int {
	if os.Getenv("OUTBOXGEN_SOAK") == "1" {
		return 10_000
	}
	return 1_000
}

// fakeClock is a Config.Now that moves when told.
type fakeClock struct{ now atomic.Int64 }

func (c *fakeClock) Now() time.Duration { return time.Duration(c.now.Load()) }

func (c *fakeClock) Advance(d time.Duration) { c.now.Add(int64(d)) }

func newBreaker(t testing.TB, c breaker.Config) *breaker.Breaker {
	t.Helper()
	b, err := breaker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func acquire(t testing.TB, b *breaker.Breaker) breaker.Permit {
	t.Helper()
	p, err := b.TryAcquire()
	if err != nil {
		t.Fatalf("TryAcquire: %v", err)
	}
	return p
}

// report runs calls that end with o.
func report(t testing.TB, b *breaker.Breaker, o breaker.Outcome, times int) {
	t.Helper()
	for range times {
		acquire(t, b).Done(o)
	}
}

// refusal wants the next call to be refused.
func refusal(t testing.TB, b *breaker.Breaker, want breaker.Reason) *breaker.OpenError {
	t.Helper()
	_, err := b.TryAcquire()
	open, ok := errors.AsType[*breaker.OpenError](err)
	if !ok || !errors.Is(err, breaker.ErrOpen) {
		t.Fatalf("TryAcquire: %v, want a refusal", err)
	}
	if open.Reason != want {
		t.Fatalf("refused as %v, want %v", open.Reason, want)
	}
	return open
}

func wantState(t testing.TB, b *breaker.Breaker, want breaker.State) {
	t.Helper()
	if got := b.State(); got != want {
		t.Fatalf("state %v, want %v", got, want)
	}
}

func fail(context.Context) (struct{}, error)    { return struct{}{}, errDown }
func succeed(context.Context) (struct{}, error) { return struct{}{}, nil }
