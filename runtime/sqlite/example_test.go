package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

// temporary is a folder for an example's database.
func temporary() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "outboxgen")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(dir, "shop.db"), func() { os.RemoveAll(dir) }
}

// The business row and the event commit together. (Generated code makes the
// record and calls Insert.)
func ExampleStore_InTx() {
	path, remove := temporary()
	defer remove()
	ctx := context.Background()
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	err = store.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "CREATE TABLE orders (id TEXT PRIMARY KEY)"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES ('o-1')"); err != nil {
			return err
		}
		_, err := store.Insert(ctx, tx, outbox.Record{
			ID:             uuid.Must(uuid.NewV7()),
			Type:           "order.created",
			Version:        1,
			OrderingKey:    "o-1",
			Payload:        []byte(`{"order_id":"o-1"}`),
			IdempotencyKey: "5f2b4c0f1f0e4f0f8f5a4ac9c15a3f4c8ad5a1fbc2bde0c5c4a6a1a1f4f0a1b2",
			Routes:         []outbox.Route{{Destination: "billing"}},
		})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}

	var status string
	if err := store.Readers().QueryRow("SELECT event_type || ' is ' || status FROM outbox_status").Scan(&status); err != nil {
		log.Fatal(err)
	}
	fmt.Println(status)
	// Output: order.created is PENDING
}

// A claim leases what is due; its events are on disk when it returns.
func ExampleStore_Claim() {
	path, remove := temporary()
	defer remove()
	ctx := context.Background()
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	err = store.InTx(ctx, func(tx *sql.Tx) error {
		_, err := store.Insert(ctx, tx, outbox.Record{
			ID: uuid.Must(uuid.NewV7()), Type: "order.created", Version: 1, Payload: []byte(`{}`), IdempotencyKey: "k1",
			Routes: []outbox.Route{{Destination: "billing"}},
		})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}

	claim, err := store.Claim(ctx, outbox.ClaimRequest{Wants: []outbox.Want{{Destination: "billing", Room: 10, Lease: time.Minute}}})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range claim.Deliveries {
		fmt.Println(d.Type, "to", d.Destination, "attempt", d.Attempt())
		lost, err := store.Settle(ctx, []outbox.Settlement{{Lease: d.Lease, Verdict: outbox.Deliver}})
		fmt.Println("lost:", lost[0], err)
	}
	// Output:
	// order.created to billing attempt 1
	// lost: false <nil>
}

// An event that comes twice is applied once.
func ExampleStore_Inbox() {
	path, remove := temporary()
	defer remove()
	ctx := context.Background()
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	entry := inbox.Entry{Consumer: "billing", IdempotencyKey: "k1", EventID: "e1", Fingerprint: "f1"}
	for range 2 {
		result, err := store.Inbox().Apply(ctx, entry, func(ctx context.Context, tx *sql.Tx) error {
			fmt.Println("an invoice is written")
			return nil
		})
		fmt.Println(result == inbox.Applied, result == inbox.Duplicate, err)
	}
	// Output:
	// an invoice is written
	// true false <nil>
	// false true <nil>
}
