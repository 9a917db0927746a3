package inbox_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/inbox"
)

func TestReceiver_PurgeRemovesAllOldRowsOfItsConsumer(t *testing.T) {
	c := newConsumer(t, func(cfg *inbox.Config) { cfg.Retention = time.Hour })
	const rows = 1203 // more than two of a purge's transactions
	for i := range rows {
		d := orderCreated(strconv.Itoa(i))
		if _, err := c.store.Apply(t.Context(), inbox.Entry{Consumer: "billing", IdempotencyKey: d.key(t)},
			func(context.Context, *inbox.MemoryTx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	c.clock.Advance(2 * time.Hour)
	c.deliver(t, orderCreated("new")).want(t, 200, "applied")
	if n, err := c.Purge(t.Context()); n != rows || err != nil {
		t.Fatalf("Purge = %d, %v; want %d", n, err, rows)
	}
	c.deliver(t, orderCreated("new")).want(t, 200, "duplicate")
}

func TestReceiver_RunPurgesNowAndAtEachInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConsumer(t, nil)
		store := inbox.NewMemory(nil) // its clock is the bubble's
		receiver, err := inbox.NewReceiver(store, c.eventTypes(), inbox.Config{
			Consumer: "billing", Sources: []string{source}, AllowUnsigned: true,
			Retention: 24 * time.Hour, PurgeInterval: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		c.Receiver = receiver
		d := orderCreated("o-1")
		send := func() answered { return c.serve(t, d.request(t, "/", time.Now())) }
		send().want(t, 200, "applied")

		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- receiver.Run(ctx) }()
		time.Sleep(24 * time.Hour) // the bubble's: no time passes outside it
		synctest.Wait()
		send().want(t, 200, "duplicate")
		time.Sleep(time.Hour)
		synctest.Wait()
		send().want(t, 200, "applied")
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run = %v after its context ended, want nil", err)
		}
	})
}

func TestReceiver_RunOutlivesAFailingPurge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConsumer(t, nil)
		receiver, err := inbox.NewReceiver(brokenStore{err: errors.New("database is locked")}, c.eventTypes(), inbox.Config{
			Consumer: "billing", Sources: []string{source}, AllowUnsigned: true, PurgeInterval: time.Minute,
			Logger: slog.New(slog.NewJSONHandler(c.logs, nil))})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- receiver.Run(ctx) }()
		time.Sleep(2*time.Minute + time.Second)
		synctest.Wait()
		if n := strings.Count(c.logs.String(), "database is locked"); n != 3 {
			t.Errorf("%d purges were tried, want 3: %s", n, c.logs.String())
		}
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
}
