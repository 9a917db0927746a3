package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
	"github.com/rogpeppe/go-internal/testscript"
)

// database FILE AGE makes a database of three events of that age for the
// destination billing: two are dead letters, with the ids 1 and 2, the third
// waits. The first one's reason tries to play tricks on a terminal.
func database(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: database FILE AGE")
	}
	age, err := time.ParseDuration(args[1])
	ts.Check(err)
	ts.Check(makeDatabase(context.Background(), ts.MkAbs(args[0]), age))
}

func makeDatabase(ctx context.Context, path string, age time.Duration) (err error) {
	store, err := sqlite.Open(ctx, path, sqlite.Options{Now: func() time.Time { return time.Now().Add(-age) }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	err = store.InTx(ctx, func(tx *sql.Tx) error {
		for i := range 3 {
			_, err := store.Insert(ctx, tx, outbox.Record{
				ID:             uuid.MustParse(fmt.Sprintf("0199%04d-0000-7000-8000-000000000000", i+1)),
				Type:           []string{"order.created", "order.cancelled", "order.created"}[i],
				Version:        1,
				Payload:        fmt.Appendf(nil, `{"order_id":%d}`, i+1),
				IdempotencyKey: fmt.Sprintf("%064d", i+1),
				Routes:         []outbox.Route{{Destination: "billing"}},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	claim, err := store.Claim(ctx, outbox.ClaimRequest{
		Wants:      []outbox.Want{{Destination: "billing", Room: 2, Lease: time.Minute}},
		CrashLimit: outbox.DefaultCrashLimit,
	})
	if err != nil {
		return err
	}
	failures := []outbox.Settlement{
		{Kind: outbox.FailureExhausted, Failure: &outbox.Failure{StatusCode: 500, Cause: "status", Message: "500: \x1b[2Jcleared\u202e\nsecond line"}},
		{Kind: outbox.FailurePermanent, Failure: &outbox.Failure{StatusCode: 422, Cause: "status", Message: "422: no such order"}},
	}
	for i, d := range claim.Deliveries {
		failures[i].Lease = d.Lease
		failures[i].Verdict = outbox.Quarantine
		failures[i].Attempted, failures[i].Spent = true, true
	}
	_, err = store.Settle(ctx, failures[:len(claim.Deliveries)])
	return err
}

// locked FILE holds the database's write lock until the script ends, as
// another process does that is in the middle of a transaction.
func locked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: locked FILE")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	conn, err := db.Conn(context.Background())
	ts.Check(err)
	_, err = conn.ExecContext(context.Background(), "BEGIN IMMEDIATE")
	ts.Check(err)
	ts.Defer(func() {
		conn.Close()
		db.Close()
	})
}
