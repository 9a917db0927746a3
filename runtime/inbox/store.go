package inbox

import (
	"context"
	"time"
)

// Store keeps which events a consumer has applied. Tx is the transaction
// type handed to the user's handler. Every implementation passes
// storetest.RunInbox.
type Store[Tx any] interface {
	// Apply writes e's inbox row and calls fn in the same transaction; fn's
	// error rolls both back and is returned as it is, and so does its panic or
	// runtime.Goexit. A row that is there already makes Apply return Duplicate, or
	// Mismatch when its fingerprint is another, without calling fn. When two
	// processes race, the second waits and then sees the row.
	//
	// What Apply reports as Applied or Duplicate survives whatever the store's
	// data survive, a power cut for a store on disk: the sender forgets the
	// event once it is told. ctx bounds the waiting and the transaction.
	Apply(ctx context.Context, e Entry, fn func(ctx context.Context, tx Tx) error) (Result, error)
	// Purge removes at most limit rows of the consumer received longer than
	// retention ago, by the store's clock.
	Purge(ctx context.Context, consumer string, retention time.Duration, limit int) (int, error)
}

// Entry is an inbox row to be.
type Entry struct {
	Consumer       string
	IdempotencyKey string
	EventID        string
	Fingerprint    string // of the body: SHA-256, 64 hex digits
}

// Result of Apply when it returned no error.
type Result int

const (
	// Applied: fn was called and its transaction is committed.
	Applied Result = iota + 1
	// Duplicate: the row was there, with the same fingerprint.
	Duplicate
	// Mismatch: the row was there, with another fingerprint.
	Mismatch
)
