package main

import (
	"context"
	"database/sql"
	"path/filepath"

	"github.com/outboxgen/outboxgen/bench/events"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

// ours is outboxgen as a user has it: the generated insert, the generated
// dispatcher, every promise on.
type ours struct {
	store *sqlite.Store
	out   *events.Outbox[*sql.Tx]
	// insert is what enqueueOne inserts; placed, unless a measurement is about
	// something else.
	insert func(ctx context.Context, tx *sql.Tx, id int) error
	config outbox.Config
}

func openOurs(ctx context.Context, dir string) (subject, error) {
	return openOursAt(ctx, filepath.Join(dir, "ours.db"))
}

func openOursAt(ctx context.Context, path string) (*ours, error) {
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	s := &ours{store: store, out: events.New(store)}
	s.insert = s.placed
	return s, s.store.InTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, businessTable)
		return err
	})
}

func (s *ours) placed(ctx context.Context, tx *sql.Tx, id int) error {
	_, err := s.out.InsertOrderPlaced(ctx, tx, events.OrderPlaced{OrderID: orderID(id), Note: note})
	return err
}

func (s *ours) moved(ctx context.Context, tx *sql.Tx, id int) error {
	_, err := s.out.InsertOrderMoved(ctx, tx, events.OrderMoved{OrderID: orderID(id), Line: "hot", Note: note})
	return err
}

func (s *ours) posted(ctx context.Context, tx *sql.Tx, id int) error {
	_, err := s.out.InsertOrderPosted(ctx, tx, events.OrderPosted{OrderID: orderID(id), Note: note})
	return err
}

func (s *ours) stuck(ctx context.Context, tx *sql.Tx, id int) error {
	_, err := s.out.InsertOrderStuck(ctx, tx, events.OrderStuck{OrderID: orderID(id), Note: note})
	return err
}

func (s *ours) enqueue(ctx context.Context, n int) error { return repeat(ctx, n, s.enqueueOne) }

func (s *ours) enqueueOne(ctx context.Context, id int) error {
	return s.store.InTx(ctx, func(tx *sql.Tx) error {
		if err := insertBusiness(ctx, tx, id); err != nil {
			return err
		}
		return s.insert(ctx, tx, id)
	})
}

// fill inserts n events in large transactions, without business rows.
func (s *ours) fill(ctx context.Context, n int, insert func(context.Context, *sql.Tx, int) error) error {
	for n > 0 {
		some := min(n, 1000)
		n -= some
		err := s.store.InTx(ctx, func(tx *sql.Tx) error {
			return repeat(ctx, some, func(ctx context.Context, id int) error { return insert(ctx, tx, id) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *ours) start(ctx context.Context, _ int, handle func([]byte)) (func() error, error) {
	d, err := events.NewDispatcher(s.store, sink(handle), hanging{}, events.WithConfig(s.config))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}, nil
}

func (s *ours) waiting(ctx context.Context) (int, error) {
	return count(ctx, s.store.Readers(), `SELECT count(*) FROM outbox_delivery WHERE destination <> 'hanging' AND ready = 1`)
}

func (s *ours) close() error { return s.store.Close() }

// sink is the no-op handler; it is told of the stored bytes.
type sink func(payload []byte)

func (h sink) OrderPlaced(_ context.Context, _ events.OrderPlaced, d *outbox.Delivery) error {
	h(d.Payload)
	return nil
}

func (h sink) OrderMoved(_ context.Context, _ events.OrderMoved, d *outbox.Delivery) error {
	h(d.Payload)
	return nil
}

func (h sink) OrderWide(_ context.Context, _ events.OrderWide, d *outbox.Delivery) error {
	h(d.Payload)
	return nil
}

// hanging answers only when its context ends.
type hanging struct{}

func (hanging) OrderStuck(ctx context.Context, _ events.OrderStuck, _ *outbox.Delivery) error {
	<-ctx.Done()
	return ctx.Err()
}
