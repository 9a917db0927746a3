package storetest

import (
	"context"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

var watchChecks = map[string]func(*storeCase){
	"Watch_SignalsAnInsert":              watchInsert,
	"Watch_SignalsWhatMakesClaimable":    watchClaimable,
	"Watch_HoldsOneSignal":               watchOne,
	"Watch_EndsWithItsContext":           watchEnds,
	"Watch_DoesNotSignalEmptyClaims":     watchQuiet,
	"Watch_SignalsCommitsOfOtherProcess": watchOther,
}

func (c *storeCase) watch(s Store) <-chan struct{} {
	c.Helper()
	signals, err := s.Watch(c.ctx)
	c.must(err)
	return signals
}

func (c *storeCase) wantSignal(signals <-chan struct{}, of string) {
	c.Helper()
	select {
	case <-signals:
	case <-c.ctx.Done():
		c.Fatalf("no signal of %s", of)
	}
}

func drained(signals <-chan struct{}) bool {
	select {
	case <-signals:
		return false
	default:
		return true
	}
}

func watchInsert(c *storeCase) {
	one, two := c.watch(c.Store), c.watch(c.Store)
	c.put("1", "")
	c.wantSignal(one, "an insert")
	c.wantSignal(two, "an insert, at a second watcher")
	c.claim(1, "1") // what was signalled can be seen
}

func watchClaimable(c *storeCase) {
	signals := c.watch(c.Store)
	step := func(of string, do func()) {
		c.Helper()
		for !drained(signals) {
		}
		do()
		c.wantSignal(signals, of)
	}
	c.put("1", "k")
	c.put("2", "k")
	step("an insert", func() { c.put("3", "") })
	one := c.claim(1, "1")[0]
	step("a turn that passed", func() { c.settle(deliver(one)) })
	two := c.claim(1, "2")[0]
	step("a give-back", func() { c.settle(giveBack(two, 0)) })
	two = c.claim(1, "2")[0]
	step("a retry", func() { c.settle(retry(two, time.Second)) })
	c.settle(quarantine(c.claim(1, "3")[0]))
	step("a replay", func() {
		_, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
		c.must(err)
	})
	step("a resumption", func() {
		c.must(c.Store.SetDestination(c.ctx, outbox.DestinationChange{Destination: "a", Action: outbox.Resume}))
	})
	step("an enablement", func() {
		c.must(c.Store.SetDestination(c.ctx, outbox.DestinationChange{Destination: "a", Action: outbox.Enable}))
	})
	step("a move", func() {
		_, err := c.Store.Move(c.ctx, outbox.Move{From: "a", To: "b"})
		c.must(err)
	})
}

func watchOne(c *storeCase) {
	signals := c.watch(c.Store)
	for _, name := range []string{"1", "2", "3"} {
		c.put(name, "")
	}
	c.wantSignal(signals, "three inserts")
	if !drained(signals) {
		// A late one, of another way of noticing, is allowed; a queue of them is not.
		if !drained(signals) {
			c.Error("the channel holds more than one signal")
		}
	}
}

func watchEnds(c *storeCase) {
	ctx, cancel := context.WithCancel(c.ctx)
	signals, err := c.Store.Watch(ctx)
	c.must(err)
	cancel()
	for {
		select {
		case _, open := <-signals:
			if !open {
				c.put("1", "") // signals nobody
				return
			}
		case <-c.ctx.Done():
			c.Fatal("the channel was not closed")
		}
	}
}

// A claim that finds nothing must not wake the one who claims.
func watchQuiet(c *storeCase) {
	signals := c.watch(c.Store)
	c.put("1", "")
	c.wantSignal(signals, "an insert")
	c.settle(retry(c.claim(1, "1")[0], time.Hour))
	c.wantSignal(signals, "a retry")
	for !drained(signals) {
	}
	for range 20 {
		c.claim(1)
	}
	if !drained(signals) {
		c.Error("empty claims were signalled")
	}
}

func watchOther(c *storeCase) {
	if c.Other == nil {
		c.Skip("this store cannot be shared")
	}
	signals := c.watch(c.Other)
	for _, name := range []string{"1", "2", "3"} {
		c.put(name, "")
		c.wantSignal(signals, "another process's insert")
		claim, err := c.Other.Claim(c.ctx, outbox.ClaimRequest{Wants: []outbox.Want{{Destination: "a", Room: 1, Lease: lease}}})
		c.must(err)
		c.wantNames(claim.Deliveries, name)
		for !drained(signals) {
		}
	}
}
