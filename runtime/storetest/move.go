package storetest

import (
	"fmt"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

var moveChecks = map[string]func(*storeCase){
	"Move_TakesOpenAndDead":                  moveAll,
	"Move_RefusesLeasedAndExisting":          moveRefuses,
	"Move_DryRunChangesNothing":              moveDryRun,
	"Move_AppliesTheNewHold":                 moveHold,
	"Move_TakesItsPlaceBySeq":                movePlace,
	"Move_WaitsForTheRunInFlight":            moveWaits,
	"Move_PassesTheTurnItLeavesBehind":       moveTurn,
	"Move_OfAnEndedLeaseLeavesASuspect":      moveEnded,
	"Move_ManyAtOnce":                        moveMany,
	"Move_RefusesOneDestination":             moveNonsense,
	"Move_LeavesPublishedAndDiscardedBehind": moveLeaves,
}

func (c *storeCase) move(from, to string, want outbox.MoveResult) {
	c.Helper()
	got, err := c.Store.Move(c.ctx, outbox.Move{From: from, To: to})
	c.must(err)
	if got != want {
		c.Fatalf("Move returned %+v, want %+v", got, want)
	}
}

func (c *storeCase) claimB(room int, names ...string) []*outbox.Delivery {
	c.Helper()
	claim := c.claimWants(outbox.Want{Destination: "b", Room: room})
	c.wantNames(claim.Deliveries, names...)
	return claim.Deliveries
}

func moveAll(c *storeCase) {
	c.put("open", "")
	c.put("tried", "")
	c.put("dead", "")
	ds := c.claim(3, "open", "tried", "dead")
	c.settle(giveBack(ds[0], 0), retry(ds[1], 0), quarantine(ds[2]))
	c.move("a", "b", outbox.MoveResult{Moved: 3})
	c.claim(5)
	c.wantNoEvent("dead", "a")
	dead := c.wantDead(outbox.DeadLetterFilter{Destination: "b"}, "dead")
	attempts, err := c.Store.Attempts(c.ctx, dead[0].EventID, "b")
	c.must(err)
	if len(attempts) != 1 {
		c.Errorf("%d attempts came along, want 1", len(attempts))
	}
	moved := c.claimB(5, "open", "tried")
	if moved[1].RetryCount != 1 {
		c.Errorf("the retry count is %d", moved[1].RetryCount)
	}
	_, err = c.Store.Replay(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.claimB(5, "dead")
}

func moveRefuses(c *storeCase) {
	c.insert(c.record("1", "", "a"), c.record("2", "", "a", "b"), c.record("3", "", "a"))
	c.claim(1, "1")
	c.move("a", "b", outbox.MoveResult{Moved: 1, Leased: 1, Existing: 1})
	c.claimB(5, "2", "3")
	c.claim(5, "2")
}

func moveDryRun(c *storeCase) {
	c.insert(c.record("1", "", "a"), c.record("2", "", "a", "b"))
	got, err := c.Store.Move(c.ctx, outbox.Move{From: "a", To: "b", Mode: outbox.DryRun})
	c.must(err)
	if want := (outbox.MoveResult{Moved: 1, Existing: 1}); got != want {
		c.Errorf("a dry run returned %+v, want %+v", got, want)
	}
	c.claim(5, "1", "2")
}

func moveHold(c *storeCase) {
	c.putHeld("held", "k")
	c.put("behind", "k")
	c.settle(quarantine(c.claim(1, "held")[0]))
	other := c.record("keeps", "l", "a")
	other.Type, other.Routes[0].Hold = "order.paid", true
	c.insert(other)
	got, err := c.Store.Move(c.ctx, outbox.Move{From: "a", To: "b", Hold: map[string]bool{"order.created": false}})
	c.must(err)
	if got.Moved != 3 {
		c.Fatalf("moved %+v", got)
	}
	ds := c.claimB(5, "behind", "keeps") // it holds no more
	if ds[0].Hold || !ds[1].Hold {
		c.Errorf("Hold is %v and %v, want the new one, and the old one where none is given", ds[0].Hold, ds[1].Hold)
	}
	c.settle(giveBack(ds[0], 0))
	got, err = c.Store.Move(c.ctx, outbox.Move{From: "b", To: "a", Hold: map[string]bool{"order.created": true}})
	c.must(err)
	if want := (outbox.MoveResult{Moved: 2, Leased: 1}); got != want {
		c.Fatalf("moved back %+v, want %+v", got, want)
	}
	c.claim(5) // and holds again
}

func movePlace(c *storeCase) {
	c.insert(c.record("1", "k", "b"), c.record("2", "k", "a"), c.record("3", "k", "b"), c.record("4", "k", "a"))
	c.move("b", "a", outbox.MoveResult{Moved: 2})
	c.claim(5, "1", "2", "3", "4")
}

func moveWaits(c *storeCase) {
	c.insert(c.record("1", "k", "b"), c.record("2", "k", "a"), c.record("3", "k", "a"))
	ds := c.claim(2, "2", "3")
	c.move("b", "a", outbox.MoveResult{Moved: 1})
	c.claim(5)
	c.settle(deliver(ds[0]))
	c.claim(5)
	c.settle(deliver(ds[1]))
	c.claim(5, "1")
}

func moveTurn(c *storeCase) {
	first := c.record("1", "k", "a")
	c.insert(first, c.record("2", "k", "a", "b"), c.record("3", "k", "a", "b"))
	c.move("a", "b", outbox.MoveResult{Moved: 1, Existing: 2})
	c.claim(5, "2", "3")
	c.claimB(5, "1", "2", "3")
}

func moveEnded(c *storeCase) {
	c.put("1", "k")
	c.put("2", "k")
	old := c.claim(2, "1", "2")
	c.move("a", "b", outbox.MoveResult{Leased: 2})
	c.crash()
	c.move("a", "b", outbox.MoveResult{Moved: 2})
	c.settleLost([]bool{true, true}, deliver(old[0]), deliver(old[1]))
	c.claimB(5)
	claim := c.claimWants(outbox.Want{Destination: "b", Suspect: true})
	c.wantNames(claim.Deliveries, "1")
	c.settle(deliver(claim.Deliveries[0]))
}

func moveMany(c *storeCase) {
	const n = 450
	recs := make([]outbox.Record, n)
	for i := range recs {
		recs[i] = c.record(fmt.Sprintf("%04d", i), fmt.Sprint("k", i%7), "a")
	}
	c.insert(recs...)
	c.move("a", "b", outbox.MoveResult{Moved: n})
	if got := len(c.claimWants(outbox.Want{Destination: "b", Room: n}).Deliveries); got != n {
		c.Errorf("%d of %d are claimable", got, n)
	}
}

func moveNonsense(c *storeCase) {
	for _, m := range []outbox.Move{{From: "a", To: "a"}, {From: "a"}, {To: "a"}} {
		if _, err := c.Store.Move(c.ctx, m); err == nil {
			c.Errorf("Move(%+v) succeeded", m)
		}
	}
}

func moveLeaves(c *storeCase) {
	c.put("published", "")
	c.put("discarded", "")
	ds := c.claim(2, "published", "discarded")
	c.settle(deliver(ds[0]), quarantine(ds[1]))
	_, err := c.Store.Discard(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.move("a", "b", outbox.MoveResult{})
	c.clock.Advance(time.Second)
	c.wantStatus("published", "a", outbox.Published)
	c.wantStatus("discarded", "a", outbox.DeadLetter)
}
