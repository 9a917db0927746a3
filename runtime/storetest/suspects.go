package storetest

import (
	"fmt"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

var suspectChecks = map[string]func(*storeCase){
	"Suspects_AreNoOrdinaryDeliveries":      suspectsApart,
	"Suspects_ComeOneAtATime":               suspectsOne,
	"Suspects_CrashCountRises":              suspectsCount,
	"Suspects_AreQuarantinedAtTheLimit":     suspectsLimit,
	"Suspects_GiveBackUndoesTheRaise":       suspectsGiveBack,
	"Suspects_SettleResetsTheCount":         suspectsReset,
	"Suspects_TakeTurnsWithTheirKey":        suspectsKeyed,
	"Suspects_WaitForAnInFlightOneOfTheKey": suspectsInFlight,
	"Suspects_TooOldAreQuarantined":         suspectsExpired,
	"Suspects_ManyAtTheLimitAtOnce":         suspectsMany,
}

// crash lets all leases end.
func (c *storeCase) crash() { c.clock.Advance(lease) }

func suspectsApart(c *storeCase) {
	c.put("1", "")
	c.claim(1, "1")
	c.clock.Advance(lease - time.Microsecond)
	c.put("2", "")
	c.claimSuspect("")
	c.clock.Advance(time.Microsecond)
	claim := c.claimWants(outbox.Want{Destination: "a", Room: 5})
	c.wantNames(claim.Deliveries, "2")
	if !claim.States[0].SuspectWaiting {
		c.Error("SuspectWaiting is not set")
	}
	claim = c.claimWants(outbox.Want{Destination: "a", Room: 5, Suspect: true})
	c.wantNames(claim.Deliveries, "1")
	if d := claim.Deliveries[0]; !d.Suspect || d.CrashCount != 1 || d.RetryCount != 0 {
		c.Errorf("the suspect is %+v", *d)
	}
	if claim.States[0].SuspectWaiting {
		c.Error("SuspectWaiting is set though the only one was taken")
	}
	c.settle(deliver(claim.Deliveries[0]))
	c.wantStatus("1", "a", outbox.Published)
}

func suspectsOne(c *storeCase) {
	for i := range 3 {
		c.put(fmt.Sprint(i), "")
	}
	c.claim(3, "0", "1", "2")
	c.crash()
	c.put("3", "")
	claim := c.claimWants(outbox.Want{Destination: "a", Room: 5, Suspect: true})
	c.wantNames(claim.Deliveries, "0", "3")
	if !claim.Deliveries[0].Suspect || claim.Deliveries[1].Suspect || !claim.States[0].SuspectWaiting {
		c.Errorf("claimed %+v, %+v, state %+v", *claim.Deliveries[0], *claim.Deliveries[1], claim.States[0])
	}
	c.claimSuspect("1")
	c.claimSuspect("2")
	c.claimSuspect("")
}

func suspectsCount(c *storeCase) {
	c.put("1", "")
	c.claim(1, "1")
	for want := 1; want <= 5; want++ {
		c.crash()
		if d := c.claimSuspect("1"); d.CrashCount != want {
			c.Errorf("the crash count is %d, want %d", d.CrashCount, want)
		}
	}
}

func suspectsLimit(c *storeCase) {
	c.put("neighbour", "")
	c.putHeld("killer", "k")
	c.put("behind", "k")
	c.claim(2, "neighbour", "killer")
	c.crash()
	c.settle(deliver(c.claimSuspect("neighbour")))
	for range 5 {
		c.claimSuspect("killer")
		c.crash()
	}
	claim := c.claimWants(outbox.Want{Destination: "a", Suspect: true})
	c.wantNames(claim.Deliveries)
	c.wantInfos(claim.Quarantined, "killer")
	if q := claim.Quarantined[0]; q.Kind != outbox.FailureCrash || q.Reason == "" {
		c.Errorf("quarantined %+v", q)
	}
	c.wantDead(outbox.DeadLetterFilter{}, "killer")
	c.claim(5) // held
	_, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	if d := c.claim(1, "killer")[0]; d.CrashCount != 0 || d.Suspect {
		c.Errorf("replayed, it is %+v", *d)
	}
}

func suspectsGiveBack(c *storeCase) {
	c.put("1", "")
	c.claim(1, "1")
	c.crash()
	c.claimSuspect("1")
	c.crash()
	for range 10 { // more often than the limit
		d := c.claimSuspect("1")
		if d.CrashCount != 2 {
			c.Fatalf("the crash count is %d after one crash of a suspect and give-backs, want 2", d.CrashCount)
		}
		c.settle(giveBack(d, 0))
		c.wantStatus("1", "a", outbox.Pending)
		c.claim(5) // it stays a suspect
	}
	d := c.claimSuspect("1")
	c.settle(giveBack(d, 10*time.Second))
	c.claimSuspect("")
	c.clock.Advance(10 * time.Second)
	c.settle(deliver(c.claimSuspect("1")))
}

func suspectsReset(c *storeCase) {
	c.put("1", "")
	c.claim(1, "1")
	for range 3 {
		c.crash()
		c.claimSuspect("1")
	}
	c.crash()
	c.settle(retry(c.claimSuspect("1"), 0))
	d := c.claim(1, "1")[0]
	if d.CrashCount != 0 || d.RetryCount != 1 {
		c.Errorf("after a settle the counts are %+v", *d)
	}
	c.crash()
	if d := c.claimSuspect("1"); d.CrashCount != 1 {
		c.Errorf("the crash count begins at %d", d.CrashCount)
	}
}

// Of a run whose process died, the first comes back as a suspect, alone, and
// the others after it.
func suspectsKeyed(c *storeCase) {
	for _, name := range []string{"1", "2", "3"} {
		c.put(name, "k")
	}
	old := c.claim(3, "1", "2", "3")
	c.crash()
	first := c.claimSuspect("1")
	c.claimSuspect("")
	c.claim(5)
	// Who held the run is fenced off from all of it.
	c.settleLost([]bool{true, true, true}, deliver(old[0]), deliver(old[1]), retry(old[2], 0))
	c.settle(deliver(first))
	c.claim(5)
	c.settle(deliver(c.claimSuspect("2")))
	c.settle(retry(c.claimSuspect("3"), 0))
	c.claim(5, "3")
}

// The head's lease has ended, but a later one of its run was renewed and may
// be in flight: the head must not be attempted beside it.
func suspectsInFlight(c *storeCase) {
	c.put("1", "k")
	c.put("2", "k")
	ds := c.claim(2, "1", "2")
	c.clock.Advance(lease / 2)
	lost, err := c.Store.Renew(c.ctx, []outbox.Lease{ds[1].Lease}, lease)
	c.must(err)
	if lost[0] {
		c.Fatal("the renewal was lost")
	}
	c.clock.Advance(lease / 2)
	claim := c.claimWants(outbox.Want{Destination: "a", Room: 5, Suspect: true})
	c.wantNames(claim.Deliveries)
	if s := claim.States[0]; s.SuspectWaiting || s.NextDue != lease/2 {
		c.Errorf("the state is %+v, want to be told to ask again in %v", s, lease/2)
	}
	c.settle(deliver(ds[1])) // it was in flight, and its lease held
	c.settle(deliver(c.claimSuspect("1")))
}

func suspectsExpired(c *storeCase) {
	c.put("1", "")
	c.claim(1, "1")
	c.crash()
	claim := c.claimWants(outbox.Want{Destination: "a", Suspect: true, MaxAge: lease})
	c.wantNames(claim.Deliveries)
	c.wantInfos(claim.Quarantined, "1")
	if kind := claim.Quarantined[0].Kind; kind != outbox.FailureExpired {
		c.Errorf("the kind is %s", kind)
	}
}

func suspectsMany(c *storeCase) {
	const n = 40
	for i := range n {
		c.put(fmt.Sprintf("%02d", i), "")
	}
	c.claimWants(outbox.Want{Destination: "a", Room: n})
	c.crash()
	for range n {
		c.claimWants(outbox.Want{Destination: "a", Suspect: true})
	}
	c.crash()
	claim, err := c.Store.Claim(c.ctx, outbox.ClaimRequest{CrashLimit: 1, Wants: []outbox.Want{{Destination: "a", Suspect: true, Lease: lease}}})
	c.must(err)
	if len(claim.Quarantined) != n || len(claim.Deliveries) != 0 {
		c.Errorf("%d quarantined and %d claimed, want %d and none", len(claim.Quarantined), len(claim.Deliveries), n)
	}
}
