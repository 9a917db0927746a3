package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

var insertChecks = map[string]func(*storeCase){
	"Insert_CommitsWithTheBusinessRow":       insertCommits,
	"Insert_RollsBackWithTheBusinessRow":     insertRollsBack,
	"Insert_KeepsEveryField":                 insertKeepsFields,
	"Insert_DuplicateChangesNothing":         insertDuplicate,
	"Insert_IgnoredDuplicateHasReceipt":      insertIgnoredDuplicate,
	"Insert_FailureLeavesNothing":            insertFailure,
	"Insert_WithoutRoutes":                   insertWithoutRoutes,
	"InsertBatch_ReturnsAReceiptEach":        batchReceipts,
	"InsertBatch_UndoesItselfOnly":           batchUndoes,
	"InsertBatch_SeesDuplicatesWithin":       batchDuplicateWithin,
	"Insert_DuplicateWindowEndsWithThePurge": insertAfterPurge,
	"Insert_SeqGrowsAndIsNeverReused":        insertSeq,
}

func insertCommits(c *storeCase) {
	c.must(c.InTx(c.ctx, func(tx Tx) error {
		if err := tx.Write(c.ctx, "order"); err != nil {
			return err
		}
		_, err := tx.Insert(c.ctx, c.record("e", "", "a", "b"))
		return err
	}))
	c.wantEffects("order")
	c.wantStatus("e", "a", outbox.Pending)
	c.wantStatus("e", "b", outbox.Pending)
}

func (c *storeCase) wantEffects(want ...string) {
	c.Helper()
	got, err := c.Effects(c.ctx)
	c.must(err)
	if !slices.Equal(got, want) {
		c.Fatalf("business rows are %q, want %q", got, want)
	}
}

func insertRollsBack(c *storeCase) {
	fault := errors.New("after the insert")
	err := c.InTx(c.ctx, func(tx Tx) error {
		c.must(tx.Write(c.ctx, "order"))
		_, err := tx.Insert(c.ctx, c.record("e", "", "a"))
		c.must(err)
		return fault
	})
	if !errors.Is(err, fault) {
		c.Fatalf("the transaction ended with %v", err)
	}
	c.wantEffects()
	c.wantNoEvent("e", "a")
	c.claim(10)
}

func insertKeepsFields(c *storeCase) {
	rec := c.record("e", "customer 7", "a")
	rec.Type, rec.Version = "order.created", 3
	rec.Payload = []byte("{\"n\":\"<b>&\u2028\U0001F600\\u001b\"}")
	rec.Trace = outbox.Trace{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", State: "k=v"}
	rec.Routes[0].Hold = true
	c.insert(rec)
	c.clock.Advance(1500 * time.Microsecond)
	d := c.claim(1, "e")[0]
	if d.ID != rec.ID || d.Type != rec.Type || d.Version != rec.Version || d.OrderingKey != rec.OrderingKey || string(d.Payload) != string(rec.Payload) ||
		d.Trace != rec.Trace || d.IdempotencyKey != rec.IdempotencyKey || d.Destination != "a" || !d.Hold {
		c.Errorf("claimed %+v of %+v, inserted %+v", *d, *d.Event, rec)
	}
	if want := c.clock.Now().Add(-1500 * time.Microsecond); !d.CreatedAt.Equal(want) || d.CreatedAt.Location() != time.UTC {
		c.Errorf("CreatedAt is %v, want %v", d.CreatedAt, want)
	}
	if d.Age != 1500*time.Microsecond || d.Seq <= 0 || d.Lease.Seq != d.Seq || d.Lease.Destination != "a" || d.Lease.Token == 0 {
		c.Errorf("age %v, seq %d, lease %+v", d.Age, d.Seq, d.Lease)
	}
	if d.Attempt() != 1 || d.RetryCount != 0 || d.CrashCount != 0 || d.ReplayCount != 0 || d.Suspect {
		c.Errorf("a fresh delivery has counts %+v", *d)
	}
}

func insertDuplicate(c *storeCase) {
	first := c.record("e", "", "a")
	c.insert(first)
	for _, differs := range []bool{false, true} {
		again := c.record("again", "", "a", "b")
		again.IdempotencyKey, again.Payload = first.IdempotencyKey, first.Payload
		if differs {
			again.Payload = []byte(`{"name":"other"}`)
		}
		c.must(c.InTx(c.ctx, func(tx Tx) error {
			_, err := tx.Insert(c.ctx, again)
			var dup *outbox.DuplicateError
			if !errors.As(err, &dup) || !errors.Is(err, outbox.ErrDuplicate) {
				c.Fatalf("the second insert returned %v", err)
			}
			if want := (outbox.DuplicateError{ID: first.ID, Type: again.Type, IdempotencyKey: first.IdempotencyKey, PayloadDiffers: differs}); *dup != want {
				c.Errorf("the error is %+v, want %+v", *dup, want)
			}
			return tx.Write(c.ctx, "the transaction goes on") // and is not spoiled
		}))
		c.wantNoEvent("again", "a")
		c.wantNoEvent("again", "b")
	}
	c.wantEffects("the transaction goes on", "the transaction goes on")
	c.claim(10, "e")
}

func insertIgnoredDuplicate(c *storeCase) {
	first := c.record("e", "", "a")
	c.insert(first)
	again := c.record("again", "", "a")
	again.IdempotencyKey, again.IgnoreDuplicate = first.IdempotencyKey, true
	c.must(c.InTx(c.ctx, func(tx Tx) error {
		got, err := tx.Insert(c.ctx, again)
		if want := (outbox.Receipt{ID: first.ID, IdempotencyKey: first.IdempotencyKey, Duplicate: true, PayloadDiffers: true}); got != want {
			c.Errorf("the receipt is %+v, want %+v", got, want)
		}
		return err
	}))
	c.claim(10, "e")
}

// A delivery that cannot be written leaves no event without it, even when the
// caller goes on and commits.
func insertFailure(c *storeCase) {
	c.put("before", "k")
	bad := c.record("bad", "k", "a", "b", "a")
	_ = c.InTx(c.ctx, func(tx Tx) error {
		if _, err := tx.Insert(c.ctx, bad); err == nil {
			c.Error("an event with two deliveries to one destination was inserted")
		}
		return nil
	})
	c.wantNoEvent("bad", "a")
	c.wantNoEvent("bad", "b")
	c.put("after", "k")
	c.claim(10, "before", "after")
}

func insertWithoutRoutes(c *storeCase) {
	c.insert(c.record("e", ""))
	c.claim(10)
	c.clock.Advance(time.Hour)
	if n, err := c.Store.Purge(c.ctx, time.Minute, 10); n != 1 || err != nil {
		c.Errorf("an event without deliveries is not purged: %d, %v", n, err)
	}
}

func batchReceipts(c *storeCase) {
	recs := []outbox.Record{c.record("1", "k", "a"), c.record("2", "k", "a"), c.record("3", "", "b")}
	c.must(c.InTx(c.ctx, func(tx Tx) error {
		receipts, err := tx.InsertBatch(c.ctx, recs)
		if err != nil {
			return err
		}
		for i, r := range receipts {
			if want := (outbox.Receipt{ID: recs[i].ID, IdempotencyKey: recs[i].IdempotencyKey}); r != want {
				c.Errorf("receipt %d is %+v, want %+v", i, r, want)
			}
		}
		return nil
	}))
	c.claim(10, "1", "2")
}

func batchUndoes(c *storeCase) {
	c.put("there", "")
	dup := c.record("dup", "", "a")
	dup.IdempotencyKey = idempotencyKey("there")
	c.must(c.InTx(c.ctx, func(tx Tx) error {
		_, err := tx.Insert(c.ctx, c.record("kept", "", "a"))
		c.must(err)
		_, err = tx.InsertBatch(c.ctx, []outbox.Record{c.record("1", "", "a"), c.record("2", "k", "a"), dup, c.record("4", "", "a")})
		var batch *outbox.BatchError
		if !errors.As(err, &batch) || batch.Index != 2 || !errors.Is(err, outbox.ErrDuplicate) {
			c.Fatalf("the batch ended with %v, want a BatchError with Index 2 of a duplicate", err)
		}
		_, err = tx.Insert(c.ctx, c.record("kept too", "k", "a"))
		return err
	}))
	for _, name := range []string{"1", "2", "dup", "4"} {
		c.wantNoEvent(name, "a")
	}
	c.claim(10, "there", "kept", "kept too")
}

func batchDuplicateWithin(c *storeCase) {
	one := c.record("one", "", "a")
	two := c.record("two", "", "a")
	two.IdempotencyKey = one.IdempotencyKey
	_ = c.InTx(c.ctx, func(tx Tx) error {
		_, err := tx.InsertBatch(c.ctx, []outbox.Record{one, two})
		var batch *outbox.BatchError
		if !errors.As(err, &batch) || batch.Index != 1 {
			c.Fatalf("the batch ended with %v", err)
		}
		return nil
	})
	c.claim(10)
	two.IgnoreDuplicate = true
	c.must(c.InTx(c.ctx, func(tx Tx) error {
		receipts, err := tx.InsertBatch(c.ctx, []outbox.Record{one, two})
		if err == nil && (receipts[0].Duplicate || !receipts[1].Duplicate || receipts[1].ID != one.ID) {
			c.Errorf("receipts are %+v", receipts)
		}
		return err
	}))
	c.claim(10, "one")
}

// The window in which a second insert is noticed is the retention.
func insertAfterPurge(c *storeCase) {
	c.put("e", "")
	c.settle(deliver(c.claim(1, "e")[0]))
	c.clock.Advance(time.Hour)
	again := c.record("again", "", "a")
	again.IdempotencyKey = idempotencyKey("e")
	_ = c.InTx(c.ctx, func(tx Tx) error {
		if _, err := tx.Insert(c.ctx, again); !errors.Is(err, outbox.ErrDuplicate) {
			c.Errorf("a duplicate of a published event: %v", err)
		}
		return nil
	})
	if n, err := c.Store.Purge(c.ctx, time.Minute, 10); n != 1 || err != nil {
		c.Fatalf("purged %d, %v", n, err)
	}
	c.insert(again)
	c.claim(1, "again")
}

func insertSeq(c *storeCase) {
	c.put("1", "")
	c.put("2", "")
	ds := c.claim(2, "1", "2")
	if ds[0].Seq >= ds[1].Seq {
		c.Errorf("seq %d then %d", ds[0].Seq, ds[1].Seq)
	}
	c.settle(deliver(ds[0]), deliver(ds[1]))
	c.clock.Advance(time.Hour)
	if n, err := c.Store.Purge(c.ctx, time.Minute, 10); n != 2 || err != nil {
		c.Fatalf("purged %d, %v", n, err)
	}
	c.put("3", "")
	if seq := c.claim(1, "3")[0].Seq; seq <= ds[1].Seq {
		c.Errorf("seq %d was used before", seq)
	}
}
