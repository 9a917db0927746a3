package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/outboxtest"
)

// Inbox is a store under test with what the suite needs beside it.
type Inbox[Tx any] struct {
	Store inbox.Store[Tx]
	// Other is a second store over the same rows, as another process would
	// have it, or nil when the store cannot be shared.
	Other inbox.Store[Tx]
	// Write leaves an effect in tx, as a handler's business row.
	Write func(ctx context.Context, tx Tx, effect string) error
	// Effects returns what committed transactions wrote, in commit order.
	Effects func(ctx context.Context) ([]string, error)
}

// OpenInbox makes an empty store whose clock is now. It cleans up by
// t.Cleanup.
type OpenInbox[Tx any] func(t *testing.T, now func() time.Time) Inbox[Tx]

// RunInbox checks a store against the contract of [inbox.Store].
func RunInbox[Tx any](t *testing.T, open OpenInbox[Tx]) {
	for _, c := range []struct {
		name  string
		check func(*testing.T, inboxCase[Tx])
	}{
		{"AppliesOnce", inboxAppliesOnce[Tx]},
		{"KeepsConsumersApart", inboxKeepsConsumersApart[Tx]},
		{"RefusesAnotherBodyUnderOneKey", inboxRefusesAnotherBody[Tx]},
		{"RollsBackOnError", inboxRollsBackOnError[Tx]},
		{"RollsBackOnPanic", inboxRollsBackOnPanic[Tx]},
		{"RollsBackOnGoexit", inboxRollsBackOnGoexit[Tx]},
		{"RollsBackWhenContextEnds", inboxRollsBackWhenContextEnds[Tx]},
		{"RefusesEndedContext", inboxRefusesEndedContext[Tx]},
		{"CopiesAtOnceApplyOnce", inboxCopiesAtOnce[Tx]},
		{"FailureLetsTheNextCopyApply", inboxFailureLetsNextApply[Tx]},
		{"PurgesWhatIsOlderThanRetention", inboxPurges[Tx]},
		{"PurgeKeepsToItsLimit", inboxPurgeLimit[Tx]},
		{"AppliesAgainOnlyAfterItsRowIsGone", inboxAppliesAgainAfterPurge[Tx]},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := newClock()
			c.check(t, inboxCase[Tx]{Inbox: open(t, clock.Now), clock: clock})
		})
	}
}

type inboxCase[Tx any] struct {
	Inbox[Tx]
	clock *outboxtest.Clock
}

// inboxPatience bounds waits that only a broken store reaches.
const inboxPatience = time.Minute

func inboxContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), inboxPatience)
	t.Cleanup(cancel)
	return ctx
}

// stores are all the views of the rows.
func (c inboxCase[Tx]) stores() []inbox.Store[Tx] {
	if c.Other == nil {
		return []inbox.Store[Tx]{c.Store}
	}
	return []inbox.Store[Tx]{c.Store, c.Other}
}

func inboxEntry(consumer string, n int) inbox.Entry {
	return inbox.Entry{
		Consumer:       consumer,
		IdempotencyKey: fmt.Sprintf("%064x", n),
		EventID:        fmt.Sprintf("01890000-0000-7000-8000-%012x", n),
		Fingerprint:    strings.Repeat("a", 64),
	}
}

func (c inboxCase[Tx]) apply(t *testing.T, store inbox.Store[Tx], e inbox.Entry, effect string) inbox.Result {
	t.Helper()
	result, err := store.Apply(inboxContext(t), e, func(ctx context.Context, tx Tx) error {
		return c.Write(ctx, tx, effect)
	})
	if err != nil {
		t.Fatalf("Apply(%s, %s): %v", e.Consumer, e.IdempotencyKey, err)
	}
	return result
}

func (c inboxCase[Tx]) wantResult(t *testing.T, got, want inbox.Result) {
	t.Helper()
	if got != want {
		t.Fatalf("Apply = %v, want %v", got, want)
	}
}

func (c inboxCase[Tx]) wantEffects(t *testing.T, want ...string) {
	t.Helper()
	got, err := c.Effects(inboxContext(t))
	if err != nil {
		t.Fatalf("reading effects: %v", err)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("effects are %q, want %q", got, want)
	}
}

func inboxAppliesOnce[Tx any](t *testing.T, c inboxCase[Tx]) {
	c.wantResult(t, c.apply(t, c.Store, inboxEntry("billing", 1), "first"), inbox.Applied)
	for _, store := range c.stores() {
		c.wantResult(t, c.apply(t, store, inboxEntry("billing", 1), "again"), inbox.Duplicate)
	}
	c.wantResult(t, c.apply(t, c.Store, inboxEntry("billing", 2), "second"), inbox.Applied)
	c.wantEffects(t, "first", "second")
}

func inboxKeepsConsumersApart[Tx any](t *testing.T, c inboxCase[Tx]) {
	c.wantResult(t, c.apply(t, c.Store, inboxEntry("billing", 1), "billed"), inbox.Applied)
	c.wantResult(t, c.apply(t, c.Store, inboxEntry("shipping", 1), "shipped"), inbox.Applied)
	c.wantResult(t, c.apply(t, c.Store, inboxEntry("shipping", 1), "shipped"), inbox.Duplicate)
	c.wantEffects(t, "billed", "shipped")
}

func inboxRefusesAnotherBody[Tx any](t *testing.T, c inboxCase[Tx]) {
	e := inboxEntry("billing", 1)
	c.wantResult(t, c.apply(t, c.Store, e, "first"), inbox.Applied)
	e.Fingerprint = strings.Repeat("b", 64)
	c.wantResult(t, c.apply(t, c.Store, e, "other"), inbox.Mismatch)
	c.wantEffects(t, "first")
	// The row is the first body's still.
	c.wantResult(t, c.apply(t, c.Store, inboxEntry("billing", 1), "again"), inbox.Duplicate)
}

func inboxRollsBackOnError[Tx any](t *testing.T, c inboxCase[Tx]) {
	fault := errors.New("after the first write")
	result, err := c.Store.Apply(inboxContext(t), inboxEntry("billing", 1), func(ctx context.Context, tx Tx) error {
		if err := c.Write(ctx, tx, "half"); err != nil {
			t.Errorf("write: %v", err)
		}
		return fault
	})
	if err != fault { // as it is: the caller may compare
		t.Fatalf("Apply = %v, %v; want the error of fn as it is", result, err)
	}
	c.wantEffects(t)
	c.wantResult(t, c.apply(t, c.Store, inboxEntry("billing", 1), "whole"), inbox.Applied)
	c.wantEffects(t, "whole")
}

func inboxRollsBackOnPanic[Tx any](t *testing.T, c inboxCase[Tx]) {
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("the panic of fn arrived as %v, want it as it was", p)
			}
		}()
		_, _ = c.Store.Apply(inboxContext(t), inboxEntry("billing", 1), func(ctx context.Context, tx Tx) error {
			if err := c.Write(ctx, tx, "half"); err != nil {
				t.Errorf("write: %v", err)
			}
			panic("boom")
		})
		t.Error("Apply returned after a panic of fn")
	}()
	c.wantEffects(t)
	c.wantResult(t, c.apply(t, c.Store, inboxEntry("billing", 1), "whole"), inbox.Applied)
	c.wantEffects(t, "whole")
}

func inboxRollsBackOnGoexit[Tx any](t *testing.T, c inboxCase[Tx]) {
	done := make(chan struct{})
	ctx := inboxContext(t)
	go func() {
		defer close(done)
		_, _ = c.Store.Apply(ctx, inboxEntry("billing", 1), func(ctx context.Context, tx Tx) error {
			if err := c.Write(ctx, tx, "half"); err != nil {
				t.Errorf("write: %v", err)
			}
			runtime.Goexit()
			return nil
		})
	}()
	<-done
	c.wantEffects(t)
	c.wantResult(t, c.apply(t, c.Store, inboxEntry("billing", 1), "whole"), inbox.Applied)
	c.wantEffects(t, "whole")
}

func inboxRollsBackWhenContextEnds[Tx any](t *testing.T, c inboxCase[Tx]) {
	ctx, cancel := context.WithCancel(inboxContext(t))
	result, err := c.Store.Apply(ctx, inboxEntry("billing", 1), func(ctx context.Context, tx Tx) error {
		if err := c.Write(ctx, tx, "late"); err != nil {
			t.Errorf("write: %v", err)
		}
		cancel()
		return nil
	})
	if err == nil {
		// A store may finish a commit that has begun; then it must say so and hold to it.
		c.wantResult(t, result, inbox.Applied)
		c.wantEffects(t, "late")
		c.wantResult(t, c.apply(t, c.Store, inboxEntry("billing", 1), "again"), inbox.Duplicate)
		return
	}
	c.wantEffects(t)
	c.wantResult(t, c.apply(t, c.Store, inboxEntry("billing", 1), "whole"), inbox.Applied)
	c.wantEffects(t, "whole")
}

func inboxRefusesEndedContext[Tx any](t *testing.T, c inboxCase[Tx]) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Store.Apply(ctx, inboxEntry("billing", 1), func(context.Context, Tx) error {
		t.Error("fn was called")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Apply = %v, want context.Canceled", err)
	}
	if _, err := c.Store.Purge(ctx, "billing", time.Hour, 1); !errors.Is(err, context.Canceled) {
		t.Fatalf("Purge = %v, want context.Canceled", err)
	}
}

func inboxCopiesAtOnce[Tx any](t *testing.T, c inboxCase[Tx]) {
	const copies = 50
	ctx := inboxContext(t)
	stores := c.stores()
	results := make([]inbox.Result, copies)
	errs := make([]error, copies)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range copies {
		done.Go(func() {
			start.Wait()
			results[i], errs[i] = stores[i%len(stores)].Apply(ctx, inboxEntry("billing", 1), func(ctx context.Context, tx Tx) error {
				return c.Write(ctx, tx, "once")
			})
		})
	}
	start.Done()
	done.Wait()
	count := map[inbox.Result]int{}
	for i, err := range errs {
		if err != nil {
			t.Errorf("copy %d: %v", i, err)
			continue
		}
		count[results[i]]++
	}
	if count[inbox.Applied] != 1 || count[inbox.Duplicate] != copies-1 {
		t.Errorf("results are %v, want 1 Applied and %d Duplicate", count, copies-1)
	}
	c.wantEffects(t, "once")
}

// A copy that waits for one that fails does its work: the failed one left no
// row.
func inboxFailureLetsNextApply[Tx any](t *testing.T, c inboxCase[Tx]) {
	ctx := inboxContext(t)
	fault := errors.New("refused")
	inside, release := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := c.Store.Apply(ctx, inboxEntry("billing", 1), func(context.Context, Tx) error {
			close(inside)
			<-release
			return fault
		})
		first <- err
	}()
	<-inside
	type answer struct {
		result inbox.Result
		err    error
	}
	second := make(chan answer, 1)
	go func() {
		result, err := c.stores()[len(c.stores())-1].Apply(ctx, inboxEntry("billing", 1), func(ctx context.Context, tx Tx) error {
			return c.Write(ctx, tx, "second")
		})
		second <- answer{result, err}
	}()
	select {
	case a := <-second:
		t.Errorf("the second copy answered %v, %v while the first was under way", a.result, a.err)
	default:
	}
	close(release)
	if err := <-first; err != fault {
		t.Fatalf("first copy: %v", err)
	}
	a := <-second
	if a.err != nil {
		t.Fatalf("second copy: %v", a.err)
	}
	c.wantResult(t, a.result, inbox.Applied)
	c.wantEffects(t, "second")
}

func inboxPurges[Tx any](t *testing.T, c inboxCase[Tx]) {
	c.apply(t, c.Store, inboxEntry("billing", 1), "1")
	c.apply(t, c.Store, inboxEntry("shipping", 1), "2")
	c.clock.Advance(time.Hour)
	c.apply(t, c.Store, inboxEntry("billing", 2), "3")
	if n := c.purge(t, time.Hour, 10); n != 0 {
		t.Fatalf("a purge at the very age of a row removed %d rows, want 0", n)
	}
	c.clock.Advance(time.Microsecond) // the unit of stored times
	if n := c.purge(t, time.Hour, 10); n != 1 {
		t.Fatalf("the purge removed %d rows, want 1", n)
	}
	c.wantResult(t, c.apply(t, c.Store, inboxEntry("billing", 2), "again"), inbox.Duplicate)
	c.wantResult(t, c.apply(t, c.Store, inboxEntry("shipping", 1), "again"), inbox.Duplicate)
}

func (c inboxCase[Tx]) purge(t *testing.T, retention time.Duration, limit int) int {
	t.Helper()
	n, err := c.Store.Purge(inboxContext(t), "billing", retention, limit)
	if err != nil {
		t.Fatalf("Purge: %v", err)
	}
	return n
}

func inboxPurgeLimit[Tx any](t *testing.T, c inboxCase[Tx]) {
	for i := range 5 {
		c.apply(t, c.Store, inboxEntry("billing", i), "x")
	}
	c.clock.Advance(2 * time.Hour)
	for i, want := range []int{2, 2, 1, 0} {
		if n := c.purge(t, time.Hour, 2); n != want {
			t.Fatalf("purge %d removed %d rows, want %d", i+1, n, want)
		}
	}
}

func inboxAppliesAgainAfterPurge[Tx any](t *testing.T, c inboxCase[Tx]) {
	e := inboxEntry("billing", 1)
	c.wantResult(t, c.apply(t, c.Store, e, "first"), inbox.Applied)
	c.clock.Advance(48 * time.Hour)
	c.wantResult(t, c.apply(t, c.Store, e, "late"), inbox.Duplicate)
	c.purge(t, 24*time.Hour, 10)
	c.wantResult(t, c.apply(t, c.Store, e, "after its row"), inbox.Applied)
	c.wantEffects(t, "first", "after its row")
}
