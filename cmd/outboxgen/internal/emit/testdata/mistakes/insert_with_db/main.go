// Command insert_with_db inserts outside a transaction.
package main

import (
	"context"
	"database/sql"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/design"
	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

type audit struct{}

func (audit) OrderCreated(context.Context, events.OrderCreated, *outbox.Delivery) error { return nil }

type billing struct{}

func (billing) OrderCreated(context.Context, *sql.Tx, events.OrderCreated, inbox.Message) error {
	return nil
}

func use(ctx context.Context, db *sql.DB, tx *sql.Tx, in outbox.Inserter[*sql.Tx], store outbox.Store, box inbox.Store[*sql.Tx]) error {
	out := events.New(in)
	if _, err := out.InsertOrderCreated(ctx, db, events.OrderCreated{}); err != nil {
		return err
	}
	if _, err := events.NewBillingReceiver(box, billing{}, inbox.Config{}); err != nil {
		return err
	}
	_, err := events.NewDispatcher(store, audit{})
	return err
}

func main() { _ = use }
