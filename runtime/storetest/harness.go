package storetest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/outboxtest"
)

// Store is what Run checks.
type Store interface {
	outbox.Store
	outbox.Admin
}

// Harness is a store under test with what the suite needs beside it.
type Harness struct {
	Store Store
	// Other is a second store over the same rows, as another process would
	// have it, or nil when the store cannot be shared.
	Other Store
	// InTx runs fn in a transaction of Store and commits it unless fn fails.
	InTx func(ctx context.Context, fn func(tx Tx) error) error
	// Effects returns what committed transactions wrote, in commit order.
	Effects func(ctx context.Context) ([]string, error)
	// Status returns the state of an event's delivery; ok is false when there
	// is none.
	Status func(ctx context.Context, eventID uuid.UUID, destination string) (status outbox.Status, ok bool, err error)
	// Strand takes its turn from an ordering key, as a hand edit would. nil:
	// the store has no such thing.
	Strand func(ctx context.Context, destination, key string) error
	// Close closes the stores before the test ends. The random parts make many;
	// nil: they stay open until then.
	Close func() error
	// Check looks for what the store itself holds for impossible, after each
	// part of the suite. nil: nothing.
	Check func(ctx context.Context) error
}

// Tx is a transaction in the hands of the suite.
type Tx struct {
	Insert      func(ctx context.Context, rec outbox.Record) (outbox.Receipt, error)
	InsertBatch func(ctx context.Context, recs []outbox.Record) ([]outbox.Receipt, error)
	// Write leaves an effect, as a business row.
	Write func(ctx context.Context, effect string) error
}

// Open makes an empty store whose clock is now. It cleans up by t.Cleanup.
type Open func(t *testing.T, now func() time.Time) Harness

// Run checks a store against the contracts of outbox.Inserter, outbox.Store and
// outbox.Admin.
func Run(t *testing.T, open Open) {
	for _, group := range []map[string]func(*storeCase){
		insertChecks, claimChecks, suspectChecks, settleChecks, orderChecks, destinationChecks, deadLetterChecks, moveChecks, purgeChecks, watchChecks, sharedChecks,
	} {
		for name, check := range group {
			t.Run(name, func(t *testing.T) {
				c := newStoreCase(t, open)
				c.ctx = inboxContext(t)
				check(c)
				c.check()
			})
		}
	}
	t.Run("Model", func(t *testing.T) { checkModel(newStoreCase(t, open)) })
	t.Run("Histories", func(t *testing.T) { checkHistories(newStoreCase(t, open)) })
}

func newStoreCase(t *testing.T, open Open) *storeCase {
	clock := newClock()
	return &storeCase{T: t, Harness: open(t, clock.Now), open: open, clock: clock, ctx: t.Context(), events: make(map[string]uuid.UUID)}
}

// soak reports whether the random parts are to be long.
func soak() bool { return os.Getenv("OUTBOXGEN_SOAK") == "1" }

// storeCase is one check under way.
type storeCase struct {
	*testing.T
	Harness
	open  Open // for those that need several stores
	clock *outboxtest.Clock
	ctx   context.Context

	mu     sync.Mutex
	events map[string]uuid.UUID // by name
}

func (c *storeCase) check() {
	c.Helper()
	if c.Check == nil || c.Failed() {
		return
	}
	if err := c.Check(c.ctx); err != nil {
		c.Errorf("the store is in an impossible state: %v", err)
	}
}

const lease = time.Minute

// record is an event named so that the suite can speak of it; its name is its
// payload and makes its idempotency key.
func (c *storeCase) record(name, key string, destinations ...string) outbox.Record {
	id := uuid.Must(uuid.NewV7())
	c.mu.Lock()
	c.events[name] = id
	c.mu.Unlock()
	rec := outbox.Record{
		ID: id, Type: "order.created", Version: 1, OrderingKey: key,
		Payload: fmt.Appendf(nil, "{\"name\":%q}", name), IdempotencyKey: idempotencyKey(name),
	}
	for _, d := range destinations {
		rec.Routes = append(rec.Routes, outbox.Route{Destination: d})
	}
	return rec
}

func idempotencyKey(name string) string { return fmt.Sprintf("%064x", name) }

func (c *storeCase) insert(recs ...outbox.Record) {
	c.Helper()
	err := c.InTx(c.ctx, func(tx Tx) error {
		for _, rec := range recs {
			if _, err := tx.Insert(c.ctx, rec); err != nil {
				return err
			}
		}
		return nil
	})
	c.must(err)
}

// put inserts one event for "a".
func (c *storeCase) put(name, key string) {
	c.Helper()
	c.insert(c.record(name, key, "a"))
}

// putHeld is put for an event that holds its key as a dead letter.
func (c *storeCase) putHeld(name, key string) {
	c.Helper()
	rec := c.record(name, key, "a")
	rec.Routes[0].Hold = true
	c.insert(rec)
}

func (c *storeCase) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *storeCase) claimWants(wants ...outbox.Want) outbox.Claim {
	c.Helper()
	for i := range wants {
		if wants[i].Lease == 0 {
			wants[i].Lease = lease
		}
	}
	claim, err := c.Store.Claim(c.ctx, outbox.ClaimRequest{Wants: wants, CrashLimit: 5})
	c.must(err)
	if len(claim.States) != len(wants) {
		c.Fatalf("a claim for %d destinations has %d states", len(wants), len(claim.States))
	}
	return claim
}

// claim claims up to room ordinary deliveries for "a" and wants exactly the
// named ones, in this order.
func (c *storeCase) claim(room int, names ...string) []*outbox.Delivery {
	c.Helper()
	claim := c.claimWants(outbox.Want{Destination: "a", Room: room})
	c.wantNames(claim.Deliveries, names...)
	return claim.Deliveries
}

// claimSuspect claims a suspect for "a" and no ordinary delivery; "" wants none.
func (c *storeCase) claimSuspect(name string) *outbox.Delivery {
	c.Helper()
	claim := c.claimWants(outbox.Want{Destination: "a", Suspect: true})
	if name == "" {
		c.wantNames(claim.Deliveries)
		return nil
	}
	c.wantNames(claim.Deliveries, name)
	if !claim.Deliveries[0].Suspect {
		c.Fatalf("%s was claimed as an ordinary delivery", name)
	}
	return claim.Deliveries[0]
}

func (c *storeCase) wantNames(deliveries []*outbox.Delivery, names ...string) {
	c.Helper()
	got := make([]string, len(deliveries))
	for i, d := range deliveries {
		got[i] = c.name(d)
	}
	if !slices.Equal(got, names) {
		c.Fatalf("claimed %q, want %q", got, names)
	}
}

func (c *storeCase) name(d *outbox.Delivery) string {
	for name, id := range c.events {
		if id == d.ID {
			return name
		}
	}
	return d.ID.String()
}

func deliver(d *outbox.Delivery) outbox.Settlement {
	return outbox.Settlement{Lease: d.Lease, Verdict: outbox.Deliver, Attempted: true}
}

func retry(d *outbox.Delivery, delay time.Duration) outbox.Settlement {
	return outbox.Settlement{Lease: d.Lease, Verdict: outbox.Retry, Delay: delay, Attempted: true, Spent: true, Failure: failure("refused")}
}

func quarantine(d *outbox.Delivery) outbox.Settlement {
	return outbox.Settlement{Lease: d.Lease, Verdict: outbox.Quarantine, Kind: outbox.FailurePermanent, Attempted: true, Spent: true, Failure: failure("rejected")}
}

func giveBack(d *outbox.Delivery, delay time.Duration) outbox.Settlement {
	return outbox.Settlement{Lease: d.Lease, Verdict: outbox.GiveBack, Delay: delay}
}

func failure(message string) *outbox.Failure {
	return &outbox.Failure{StartedAt: time.Date(2026, 3, 1, 11, 59, 0, 0, time.UTC), Duration: 1500 * time.Millisecond, StatusCode: 500, Cause: "status", Message: message}
}

// settle records outcomes and wants none to be lost.
func (c *storeCase) settle(settlements ...outbox.Settlement) {
	c.Helper()
	c.settleLost(make([]bool, len(settlements)), settlements...)
}

func (c *storeCase) settleLost(want []bool, settlements ...outbox.Settlement) {
	c.Helper()
	lost, err := c.Store.Settle(c.ctx, settlements)
	c.must(err)
	if !slices.Equal(lost, want) {
		c.Fatalf("lost is %v, want %v", lost, want)
	}
}

func (c *storeCase) wantStatus(name, destination string, want outbox.Status) {
	c.Helper()
	got, ok, err := c.Status(c.ctx, c.events[name], destination)
	c.must(err)
	if !ok || got != want {
		c.Fatalf("%s at %s is %q, want %q", name, destination, got, want)
	}
}

func (c *storeCase) wantNoEvent(name, destination string) {
	c.Helper()
	got, ok, err := c.Status(c.ctx, c.events[name], destination)
	c.must(err)
	if ok {
		c.Fatalf("%s at %s is %q, want no such delivery", name, destination, got)
	}
}

// dead returns the dead letters, by name.
func (c *storeCase) wantDead(f outbox.DeadLetterFilter, names ...string) []outbox.DeadLetterInfo {
	c.Helper()
	infos, err := c.Store.DeadLetters(c.ctx, f)
	c.must(err)
	c.wantInfos(infos, names...)
	return infos
}

func (c *storeCase) wantInfos(infos []outbox.DeadLetterInfo, names ...string) {
	c.Helper()
	got := make([]string, len(infos))
	for i, info := range infos {
		got[i] = info.EventID
		for name, id := range c.events {
			if id.String() == info.EventID {
				got[i] = name
			}
		}
	}
	if !slices.Equal(got, names) {
		c.Fatalf("dead letters are %q, want %q", got, names)
	}
}
