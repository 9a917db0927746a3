package storetest

import (
	"fmt"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

var claimChecks = map[string]func(*storeCase){
	"Claim_TakesTheEarliestDueUpToRoom":         claimRoom,
	"Claim_ServesDestinationsApart":             claimDestinations,
	"Claim_ClaimsNothingTwice":                  claimOnce,
	"Claim_LeavesWhatBacksOff":                  claimBackoff,
	"Claim_TellsWhenToAskAgain":                 claimNextDue,
	"Claim_FewestRetriesFirst":                  claimFewestRetries,
	"Claim_QuarantinesWhatIsTooOld":             claimMaxAge,
	"Claim_AgeRunsAnewAfterAReplay":             claimMaxAgeReplay,
	"Claim_SkipsPausedAndDisabledDestinations":  claimPaused,
	"Claim_RefusesALeaseWithoutLength":          claimNoLease,
	"Claim_OfAnUnknownDestinationYieldsNothing": claimUnknown,
}

func claimRoom(c *storeCase) {
	c.put("1", "")
	c.clock.Advance(time.Second)
	c.put("2", "")
	c.put("3", "")
	c.claim(0)
	c.settle(giveBack(c.claim(1, "1")[0], 10*time.Second))
	c.claim(1, "2")
	c.clock.Advance(10 * time.Second)
	c.claim(5, "3", "1") // by due time
}

func claimDestinations(c *storeCase) {
	c.insert(c.record("1", "", "a", "b"), c.record("2", "", "b"), c.record("3", "", "a"))
	claim := c.claimWants(outbox.Want{Destination: "b", Room: 1}, outbox.Want{Destination: "none", Room: 5}, outbox.Want{Destination: "a", Room: 5})
	c.wantNames(claim.Deliveries, "1", "1", "3")
	for i, want := range []string{"b", "a", "a"} {
		if got := claim.Deliveries[i].Destination; got != want {
			c.Errorf("delivery %d is for %s, want %s", i, got, want)
		}
	}
}

func claimOnce(c *storeCase) {
	for i := range 5 {
		c.put(fmt.Sprint(i), "")
	}
	tokens := make(map[outbox.Lease]bool)
	for _, names := range [][]string{{"0", "1"}, {"2", "3"}, {"4"}, {}} {
		for _, d := range c.claim(2, names...) {
			if tokens[d.Lease] {
				c.Errorf("lease %+v was given twice", d.Lease)
			}
			tokens[d.Lease] = true
		}
	}
	c.wantStatus("0", "a", outbox.Processing)
}

func claimBackoff(c *storeCase) {
	c.put("1", "")
	c.settle(retry(c.claim(1, "1")[0], 10*time.Second))
	c.wantStatus("1", "a", outbox.Pending)
	c.clock.Advance(10*time.Second - time.Microsecond)
	c.claim(1)
	c.clock.Advance(time.Microsecond)
	if d := c.claim(1, "1")[0]; d.RetryCount != 1 || d.Attempt() != 2 {
		c.Errorf("after one retry the counts are %+v", *d)
	}
}

func claimNextDue(c *storeCase) {
	want := outbox.Want{Destination: "a", Room: 1}
	c.wantNextDue(want, -1)
	c.put("1", "")
	c.wantNextDue(outbox.Want{Destination: "a"}, 0) // no room for what is due
	c.put("2", "")
	c.put("3", "")
	claim := c.claimWants(want)
	if got := claim.States[0].NextDue; got != 0 {
		c.Errorf("NextDue is %v while more is due, want 0", got)
	}
	c.settle(retry(claim.Deliveries[0], 30*time.Second))
	c.settle(retry(c.claim(1, "2")[0], 40*time.Second))
	c.settle(deliver(c.claim(1, "3")[0]))
	c.wantNextDue(want, 30*time.Second)
	c.clock.Advance(10 * time.Second)
	c.wantNextDue(want, 20*time.Second)
	// A lease's end counts: what it held may have to be claimed then.
	c.clock.Advance(20 * time.Second)
	claim = c.claimWants(outbox.Want{Destination: "a", Room: 1, Lease: 5 * time.Second})
	c.wantNames(claim.Deliveries, "1")
	if got := claim.States[0].NextDue; got != 5*time.Second {
		c.Errorf("NextDue is %v with a lease that ends in 5s", got)
	}
}

func (c *storeCase) wantNextDue(w outbox.Want, want time.Duration) {
	c.Helper()
	claim := c.claimWants(w)
	c.wantNames(claim.Deliveries)
	if got := claim.States[0].NextDue; got != want && (got >= 0 || want >= 0) {
		c.Fatalf("NextDue is %v, want %v", got, want)
	}
}

// A breaker's probe must not burn the attempts of the most tried delivery.
func claimFewestRetries(c *storeCase) {
	for _, name := range []string{"two", "one", "one later", "none"} {
		c.put(name, "")
	}
	ds := c.claim(4, "two", "one", "one later", "none")
	c.settle(retry(ds[0], 0), retry(ds[1], 0), retry(ds[2], 2*time.Second), giveBack(ds[3], time.Second))
	c.settle(retry(c.claim(1, "two")[0], 0))
	c.clock.Advance(3 * time.Second)
	probe := outbox.Want{Destination: "a", Room: 1, FewestRetriesFirst: true}
	var left []*outbox.Delivery
	for _, name := range []string{"none", "one", "one later", "two"} {
		claim := c.claimWants(probe)
		c.wantNames(claim.Deliveries, name)
		left = append(left, claim.Deliveries...)
	}
	for _, d := range left {
		c.settle(giveBack(d, 0))
	}
	probe.Room = 3
	c.wantNames(c.claimWants(probe).Deliveries, "none", "one", "one later")
}

func claimMaxAge(c *storeCase) {
	c.putHeld("old", "k")
	c.put("behind", "k")
	c.put("old too", "")
	c.clock.Advance(10 * time.Second)
	c.put("young", "")
	c.put("behind young", "k")
	c.clock.Advance(10 * time.Second)
	want := outbox.Want{Destination: "a", Room: 1, MaxAge: 20 * time.Second}
	claim := c.claimWants(want)
	c.wantNames(claim.Deliveries, "young")
	c.wantInfos(claim.Quarantined, "old", "old too")
	for _, info := range claim.Quarantined {
		if info.Kind != outbox.FailureExpired || info.Reason == "" || info.Destination != "a" || info.EventType != "order.created" || info.ID == 0 {
			c.Errorf("quarantined %+v", info)
		}
	}
	c.wantStatus("old", "a", outbox.DeadLetter)
	c.wantStatus("behind", "a", outbox.Pending) // held
	c.wantDead(outbox.DeadLetterFilter{Kind: outbox.FailureExpired}, "old", "old too")

	_, err := c.Store.Discard(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	claim = c.claimWants(want)
	c.wantInfos(claim.Quarantined, "behind") // as old; it does not hold
	c.wantNames(claim.Deliveries, "behind young")
}

func claimMaxAgeReplay(c *storeCase) {
	c.put("1", "")
	c.settle(quarantine(c.claim(1, "1")[0]))
	c.clock.Advance(time.Hour)
	_, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.clock.Advance(10 * time.Second)
	claim := c.claimWants(outbox.Want{Destination: "a", Room: 1, MaxAge: 20 * time.Second})
	c.wantNames(claim.Deliveries, "1")
	if got := claim.Deliveries[0].Age; got != 10*time.Second {
		c.Errorf("the age is %v since the replay 10s ago", got)
	}
}

func claimPaused(c *storeCase) {
	c.insert(c.record("1", "", "a", "b"), c.record("2", "", "a"))
	set := func(action outbox.DestinationAction, d time.Duration, reason string) {
		c.Helper()
		c.must(c.Store.SetDestination(c.ctx, outbox.DestinationChange{Destination: "a", Action: action, For: d, Reason: reason}))
	}
	state := func() outbox.ClaimState {
		c.Helper()
		claim := c.claimWants(outbox.Want{Destination: "a", Room: 1, Suspect: true})
		c.wantNames(claim.Deliveries)
		return claim.States[0]
	}
	set(outbox.Pause, 10*time.Second, "Retry-After")
	set(outbox.Pause, 5*time.Second, "does not shorten it")
	if s := state(); s.PausedFor != 10*time.Second || s.Disabled != "" {
		c.Errorf("a paused destination's state is %+v", s)
	}
	c.wantNames(c.claimWants(outbox.Want{Destination: "b", Room: 1}).Deliveries, "1") // another one is not
	c.clock.Advance(4 * time.Second)
	if s := state(); s.PausedFor != 6*time.Second {
		c.Errorf("PausedFor is %v after 4s of 10s", s.PausedFor)
	}
	c.clock.Advance(6 * time.Second)
	c.claim(1, "1")
	set(outbox.Pause, time.Hour, "")
	set(outbox.Resume, 0, "")
	c.settle(giveBack(c.claim(1, "2")[0], 0))

	set(outbox.Disable, 0, "410 Gone")
	if s := state(); s.Disabled != "410 Gone" || s.PausedFor != 0 {
		c.Errorf("a disabled destination's state is %+v", s)
	}
	c.clock.Advance(1000 * time.Hour)
	state()
	set(outbox.Enable, 0, "")
	c.claim(1, "2")
	set(outbox.Disable, 0, "")
	if s := state(); s.Disabled == "" {
		c.Error("a destination disabled without a reason has none in its state")
	}
}

func claimNoLease(c *storeCase) {
	c.put("1", "")
	_, err := c.Store.Claim(c.ctx, outbox.ClaimRequest{Wants: []outbox.Want{{Destination: "a", Room: 1}}})
	if err == nil {
		c.Error("a claim with a lease of 0 succeeded")
	}
	c.claim(1, "1")
}

func claimUnknown(c *storeCase) {
	claim := c.claimWants(outbox.Want{Destination: "nobody", Room: 10, Suspect: true})
	c.wantNames(claim.Deliveries)
	if s := claim.States[0]; s.NextDue >= 0 || s.SuspectWaiting || s.Disabled != "" || s.PausedFor != 0 {
		c.Errorf("its state is %+v", s)
	}
}
