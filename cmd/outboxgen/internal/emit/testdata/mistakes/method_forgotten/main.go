// Command method_forgotten forgets an event of a handler.
package main

import (
	"context"
	"database/sql"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/design"
	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

type audit struct{}

type billing struct{}

func (billing) OrderCreated(context.Context, *sql.Tx, events.OrderCreated, inbox.Message) error {
	return nil
}

func use(ctx context.Context, db *sql.DB, tx *sql.Tx, in outbox.Inserter[*sql.Tx], store outbox.Store, box inbox.Store[*sql.Tx]) error {
	out := events.New(in)
	if _, err := out.InsertOrderCreated(ctx, tx, events.OrderCreated{}); err != nil {
		return err
	}
	if _, err := events.NewBillingReceiver(box, billing{}, inbox.Config{}); err != nil {
		return err
	}
	_, err := events.NewDispatcher(store, audit{})
	return err
}

func main() { _ = use }
