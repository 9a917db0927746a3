package outbox_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// Promise 10: no transaction is open while an attempt is under way.
func TestSQLite_BusinessCommitsWhileAnAttemptIsUnderWay(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"))
	committed := make(chan error, 1)
	_, stop := run(t, s, outbox.Config{}, handler(t, func(context.Context, *outbox.Delivery) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second) // long past what it takes
		defer cancel()
		committed <- s.InTx(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "CREATE TABLE orders (id INTEGER PRIMARY KEY)")
			return err
		})
		return nil
	}, outbox.HandlerConfig{}))
	insert(t, s, 1, noKey)
	if err := <-committed; err != nil {
		t.Errorf("a business transaction during an attempt: %v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
