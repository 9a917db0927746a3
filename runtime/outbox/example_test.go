package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

// Generated code does this with types; by hand it looks like so.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	dir, err := os.MkdirTemp("", "outbox")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "shop.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	orderCreated := &outbox.Definition{
		Source: "/services/orders", Type: "order.created", Version: 1,
		Idempotency: canonical.Policy{Mode: canonical.ByFields, Fields: []string{"order_id"}},
		Routes:      []outbox.Route{{Destination: "audit"}},
	}
	err = store.InTx(ctx, func(tx *sql.Tx) error {
		// … the business's own statements …
		_, err := outbox.InsertEvent(ctx, store, tx, orderCreated, "o-1", []byte(`{"order_id":"o-1"}`))
		return err
	})
	if err != nil {
		log.Fatal(err)
	}

	audit, err := outbox.HandlerDestination("audit", outbox.HandlerFunc(func(ctx context.Context, d *outbox.Delivery) error {
		fmt.Printf("%s %s\n", d.Type, d.Payload)
		stop()
		return nil
	}), outbox.HandlerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	d, err := outbox.NewDispatcher(store, []outbox.Destination{audit}, outbox.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := d.Run(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("delivered:", d.Stats().Destinations[0].Delivered)
	// Output:
	// order.created {"order_id":"o-1"}
	// delivered: 1
}

func ExamplePermanent() {
	h := outbox.HandlerFunc(func(ctx context.Context, d *outbox.Delivery) error {
		if d.Version > 2 {
			return outbox.ErrUnknownEvent // given back: a later release knows it
		}
		if len(d.Payload) > 1<<20 {
			return outbox.Permanent(errors.New("too large for the ledger")) // dead letter at once
		}
		return nil
	})
	err := h.Handle(context.Background(), &outbox.Delivery{Event: &outbox.Event{Payload: make([]byte, 2<<20)}})
	fmt.Println(err)
	// Output: too large for the ledger
}

func ExampleRetryPolicy_Backoff() {
	p := outbox.RetryPolicy{MaxAttempts: 6, Base: 5 * time.Second, Cap: time.Minute}
	longest := func() float64 { return 1 }
	for attempt := 1; attempt < p.MaxAttempts; attempt++ {
		fmt.Println(p.Backoff(attempt, longest))
	}
	// Output:
	// 5s
	// 10s
	// 20s
	// 40s
	// 1m0s
}

func ExampleNewJSONLog() {
	h := outbox.NewJSONLog(os.Stdout, slog.LevelInfo)
	log := slog.New(h).With("logger", "shop")
	r := slog.NewRecord(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), slog.LevelInfo, "order accepted", 0)
	r.Add("order_id", "o-1")
	if err := log.Handler().Handle(context.Background(), r); err != nil {
		fmt.Println(err)
	}
	// Output: {"timestamp":"2026-01-31T12:00:00Z","level":"INFO","message":"order accepted","logger":"shop","order_id":"o-1"}
}

func ExampleDate() {
	d, err := outbox.ParseDate("2026-02-29")
	fmt.Println(d, err)
	// Output: 0000-00-00 outbox: "2026-02-29" is no date: write it as 2026-01-31
}

func ExampleOptional() {
	for _, o := range []outbox.Optional[int]{{}, outbox.Null[int](), outbox.Some(0)} {
		v, ok := o.Get()
		fmt.Println(o.IsSet(), o.IsNull(), v, ok)
	}
	// Output:
	// false false 0 false
	// true true 0 false
	// true false 0 true
}
