package storetest

import (
	"fmt"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

var orderChecks = map[string]func(*storeCase){
	"Order_LaterWaitForTheFirst":                 orderWaits,
	"Order_KeysAndDestinationsDoNotBlockOthers":  orderOthers,
	"Order_RunIsClaimedTogetherInOrder":          orderRun,
	"Order_RunsShareTheRoom":                     orderShare,
	"Order_RunStopsAtWhatIsNotDue":               orderRunStops,
	"Order_RunPassesTheTurnAsItIsSettled":        orderRunPasses,
	"Order_FailedMemberGivesBackItsRun":          orderRunFails,
	"Order_FailedMemberWithSettledOnesInOneCall": orderRunFailsBatch,
	"Order_GiveBackOfOneGivesBackItsRun":         orderRunGivenBack,
	"Order_ContinueLetsTheRunGoOn":               orderRunContinues,
	"Order_HoldKeepsLaterOnesWaiting":            orderHold,
	"Order_HoldInARunGivesBackTheRest":           orderHoldInRun,
	"Order_DiscardOfAHoldLetsThemPass":           orderDiscard,
	"Order_ReplayTakesItsPlace":                  orderReplay,
	"Order_ReplayWaitsForTheRunInFlight":         orderReplayWaits,
	"Order_ReplayWhileBackingOffGoesFirst":       orderReplayBackoff,
	"Order_ReplayOvertakesAnEndedRun":            orderReplayEnded,
	"Order_TailAfterAllIsPublished":              orderTail,
	"Order_ProbeClaimsNoRun":                     orderProbe,
	"Order_MendsAStrandedKey":                    orderMend,
}

func orderWaits(c *storeCase) {
	c.put("1", "k")
	c.put("2", "k")
	one := c.claim(1, "1")[0]
	c.claim(5)
	c.settle(retry(one, time.Minute))
	c.claim(5) // the first backs off: nothing overtakes it
	c.clock.Advance(time.Minute)
	c.settle(deliver(c.claim(1, "1")[0]))
	c.claim(5, "2")
}

func orderOthers(c *storeCase) {
	c.insert(c.record("1", "k", "a", "b"), c.record("2", "k", "a", "b"), c.record("3", "l", "a"), c.record("4", "", "a"))
	c.claim(1, "1")
	c.claim(5, "3", "4")
	c.wantNames(c.claimWants(outbox.Want{Destination: "b", Room: 5}).Deliveries, "1", "2")
}

func orderRun(c *storeCase) {
	for i := range 5 {
		c.put(fmt.Sprint(i), "k")
	}
	ds := c.claim(3, "0", "1", "2")
	for _, d := range ds {
		if d.Lease.Token != ds[0].Lease.Token {
			c.Errorf("a run has the tokens %d and %d", ds[0].Lease.Token, d.Lease.Token)
		}
	}
	c.claim(5)
	c.settle(deliver(ds[0]), deliver(ds[1]), deliver(ds[2]))
	c.claim(5, "3", "4")
}

// One hot key does not take the room of the others.
func orderShare(c *storeCase) {
	for _, key := range []string{"k", "l"} {
		for i := range 10 {
			c.put(fmt.Sprint(key, i), key)
		}
	}
	count := map[string]int{}
	for _, d := range c.claimWants(outbox.Want{Destination: "a", Room: 10}).Deliveries {
		count[d.OrderingKey]++
	}
	if count["k"] != 5 || count["l"] != 5 {
		c.Errorf("two hot keys got %v of a room of 10", count)
	}
}

func orderRunStops(c *storeCase) {
	for _, name := range []string{"1", "2", "3"} {
		c.put(name, "k")
	}
	ds := c.claim(3, "1", "2", "3")
	c.settle(giveBack(ds[2], 0), giveBack(ds[1], time.Hour), giveBack(ds[0], 0))
	one := c.claim(5, "1")[0]
	c.settle(deliver(one))
	c.claim(5)
	c.clock.Advance(time.Hour)
	c.claim(5, "2", "3")
}

func orderRunPasses(c *storeCase) {
	for _, name := range []string{"1", "2", "3", "4"} {
		c.put(name, "k")
	}
	ds := c.claim(3, "1", "2", "3")
	for _, d := range ds {
		c.claim(5)
		c.settle(deliver(d))
	}
	c.claim(5, "4")
}

func orderRunFails(c *storeCase) {
	for _, name := range []string{"1", "2", "3", "4"} {
		c.put(name, "k")
	}
	ds := c.claim(4, "1", "2", "3", "4")
	c.settle(deliver(ds[0]))
	c.settle(retry(ds[1], time.Minute))
	for _, name := range []string{"2", "3", "4"} {
		c.wantStatus(name, "a", outbox.Pending)
	}
	c.settleLost([]bool{true, true}, deliver(ds[2]), giveBack(ds[3], 0)) // given back already, by an earlier call
	c.claim(5)
	c.clock.Advance(time.Minute)
	ds = c.claim(5, "2", "3", "4")
	if ds[0].RetryCount != 1 || ds[1].RetryCount != 0 || ds[1].CrashCount != 0 || ds[1].Suspect {
		c.Errorf("claimed %+v, %+v", *ds[0], *ds[1])
	}
}

// What was delivered before the failure stands, wherever it is in the call;
// a give-back of what the call itself gives back is not lost.
func orderRunFailsBatch(c *storeCase) {
	for _, name := range []string{"1", "2", "3", "4"} {
		c.put(name, "k")
	}
	ds := c.claim(4, "1", "2", "3", "4")
	c.settleLost([]bool{false, false, false, true}, retry(ds[1], 0), deliver(ds[0]), giveBack(ds[2], 0), deliver(ds[3]))
	c.wantStatus("1", "a", outbox.Published)
	ds = c.claim(5, "2", "3", "4")
	c.settle(deliver(ds[0]), deliver(ds[1]), retry(ds[2], 0))
	c.claim(5, "4")
}

func orderRunGivenBack(c *storeCase) {
	for _, name := range []string{"1", "2", "3"} {
		c.put(name, "k")
	}
	ds := c.claim(3, "1", "2", "3")
	c.settle(giveBack(ds[0], 30*time.Second))
	c.wantStatus("3", "a", outbox.Pending)
	c.claim(5) // none of them overtakes it
	c.clock.Advance(30 * time.Second)
	ds = c.claim(3, "1", "2", "3")
	c.settle(giveBack(ds[2], 0))
	c.settle(giveBack(ds[1], 0))
	c.settle(giveBack(ds[0], 0))
	c.claim(3, "1", "2", "3")
}

func orderRunContinues(c *storeCase) {
	for _, name := range []string{"1", "2", "3"} {
		c.put(name, "k")
	}
	ds := c.claim(3, "1", "2", "3")
	c.settle(quarantine(ds[0]))
	c.wantStatus("2", "a", outbox.Processing)
	c.claim(5)
	c.settle(deliver(ds[1]), deliver(ds[2]))
	c.wantStatus("3", "a", outbox.Published)
}

func orderHold(c *storeCase) {
	c.putHeld("1", "k")
	c.put("2", "k")
	c.put("other", "l")
	c.settle(quarantine(c.claim(1, "1")[0]))
	c.claim(5, "other")
	c.put("3", "k")
	c.claim(5)
	c.clock.Advance(1000 * time.Hour)
	c.claim(5)
	if n, err := c.Store.Mend(c.ctx); err != nil || n != 0 {
		c.Errorf("Mend took a held key for a stranded one: %d, %v", n, err)
	}
	_, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.claim(5, "1", "2", "3")
}

func orderHoldInRun(c *storeCase) {
	c.put("1", "k")
	c.putHeld("2", "k")
	c.put("3", "k")
	ds := c.claim(3, "1", "2", "3")
	if ds[0].Hold || !ds[1].Hold {
		c.Errorf("Hold is %v and %v, want false and true", ds[0].Hold, ds[1].Hold)
	}
	c.settle(deliver(ds[0]), quarantine(ds[1]), giveBack(ds[2], 0))
	c.wantStatus("3", "a", outbox.Pending)
	c.claim(5)
	_, err := c.Store.Discard(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.claim(5, "3")
}

func orderDiscard(c *storeCase) {
	c.putHeld("1", "k")
	c.put("2", "k")
	c.settle(quarantine(c.claim(1, "1")[0]))
	_, err := c.Store.Discard(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.wantStatus("1", "a", outbox.DeadLetter) // for good
	c.wantDead(outbox.DeadLetterFilter{})
	c.claim(5, "2")
}

func orderReplay(c *storeCase) {
	c.put("1", "k")
	c.put("2", "k")
	c.put("3", "k")
	c.settle(quarantine(c.claim(1, "1")[0])) // it lets them pass
	_, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.claim(5, "1", "2", "3") // nothing was leased: its place is the first
}

func orderReplayWaits(c *storeCase) {
	c.put("1", "k")
	c.settle(quarantine(c.claim(1, "1")[0]))
	c.put("2", "k")
	c.put("3", "k")
	c.put("4", "k")
	ds := c.claim(2, "2", "3")
	_, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.claim(5) // 2 is in flight
	c.settle(deliver(ds[0]))
	c.claim(5) // 3 of the same run may be in flight already
	c.settle(deliver(ds[1]))
	c.claim(5, "1", "4")
}

func orderReplayBackoff(c *storeCase) {
	c.put("1", "k")
	c.settle(quarantine(c.claim(1, "1")[0]))
	c.put("2", "k")
	c.settle(retry(c.claim(1, "2")[0], time.Hour))
	_, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.settle(deliver(c.claim(5, "1")[0]))
	c.claim(5)
	c.clock.Advance(time.Hour)
	c.claim(5, "2")
}

// The run's leases have ended, so it is in flight no more: what has come into
// line before it goes first, though no settle has passed the turn.
func orderReplayEnded(c *storeCase) {
	c.put("1", "k")
	c.settle(quarantine(c.claim(1, "1")[0]))
	c.put("2", "k")
	c.put("3", "k")
	c.claim(2, "2", "3")
	_, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.crash()
	claim := c.claimWants(outbox.Want{Destination: "a", Room: 5, Suspect: true})
	c.wantNames(claim.Deliveries, "1")
	if claim.Deliveries[0].Suspect {
		c.Error("the replayed one is no suspect")
	}
	c.settle(deliver(claim.Deliveries[0]))
	c.settle(deliver(c.claimSuspect("2")))
	c.settle(deliver(c.claimSuspect("3")))
}

func orderTail(c *storeCase) {
	c.put("1", "k")
	c.settle(deliver(c.claim(5, "1")[0]))
	c.put("2", "k")
	c.settle(deliver(c.claim(5, "2")[0]))
}

func orderProbe(c *storeCase) {
	c.put("1", "k")
	c.put("2", "k")
	c.wantNames(c.claimWants(outbox.Want{Destination: "a", Room: 5, FewestRetriesFirst: true}).Deliveries, "1")
}

func orderMend(c *storeCase) {
	if c.Strand == nil {
		c.Skip("a key of this store cannot lose its turn")
	}
	for _, key := range []string{"k", "l", "m"} {
		c.put(key+"1", key)
		c.put(key+"2", key)
	}
	c.must(c.Strand(c.ctx, "a", "k"))
	c.must(c.Strand(c.ctx, "a", "l"))
	c.claim(5, "m1", "m2")
	if n, err := c.Store.Mend(c.ctx); err != nil || n != 2 {
		c.Fatalf("Mend returned %d, %v; want 2", n, err)
	}
	if n, err := c.Store.Mend(c.ctx); err != nil || n != 0 {
		c.Fatalf("a second Mend returned %d, %v; want 0", n, err)
	}
	c.claim(5, "k1", "l1", "k2", "l2")
}
