package main

import "context"

// subject is one thing measured: ours, the floor, or a peer. Every subject
// works on a database file of its own, in a fresh folder, with the same
// business row beside each event.
type subject interface {
	// enqueue commits n transactions, each of one business row and one event.
	enqueue(ctx context.Context, n int) error
	// enqueueOne commits one such transaction; the handler gets its number.
	enqueueOne(ctx context.Context, id int) error
	// start begins to deliver to handle, with the given number of workers, and
	// returns a function that stops and waits.
	start(ctx context.Context, workers int, handle func(payload []byte)) (stop func() error, err error)
	// waiting counts what is not delivered and recorded as such.
	waiting(ctx context.Context) (int, error)
	close() error
}

// opener opens a subject on a new database in dir.
type opener struct {
	name string
	open func(ctx context.Context, dir string) (subject, error)
}
