package storetest

import (
	"fmt"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

var purgeChecks = map[string]func(*storeCase){
	"Purge_TakesWhatIsDoneAndOld":     purgeDone,
	"Purge_KeepsWhatIsStillNeeded":    purgeKeeps,
	"Purge_CountsFromTheLastDelivery": purgeSince,
	"Purge_KeepsToItsLimit":           purgeLimit,
	"Purge_PassesOverManyThatStay":    purgePasses,
}

func (c *storeCase) purge(retention time.Duration, limit, want int) {
	c.Helper()
	n, err := c.Store.Purge(c.ctx, retention, limit)
	c.must(err)
	if n != want {
		c.Fatalf("purged %d events, want %d", n, want)
	}
}

func purgeDone(c *storeCase) {
	c.put("published", "")
	c.put("discarded", "k")
	ds := c.claim(2, "published", "discarded")
	c.settle(deliver(ds[0]), quarantine(ds[1]))
	_, err := c.Store.Discard(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.clock.Advance(time.Hour)
	c.purge(time.Hour, 10, 0) // at its very age
	c.clock.Advance(time.Microsecond)
	c.purge(time.Hour, 10, 2)
	c.wantNoEvent("published", "a")
	c.wantNoEvent("discarded", "a")
	if attempts, err := c.Store.Attempts(c.ctx, ds[1].ID.String(), ""); err != nil || len(attempts) != 0 {
		c.Errorf("attempts of a purged event: %v, %v", attempts, err)
	}
	c.purge(time.Hour, 10, 0)
}

func purgeKeeps(c *storeCase) {
	c.put("dead", "")
	c.put("retried", "")
	c.put("leased", "")
	c.insert(c.record("half", "", "a", "b"), c.record("pending", "", "b"))
	ds := c.claim(4, "dead", "retried", "leased", "half")
	c.settle(quarantine(ds[0]), retry(ds[1], 0), deliver(ds[3]))
	c.clock.Advance(1000 * time.Hour)
	c.purge(0, 10, 0)
	c.wantDead(outbox.DeadLetterFilter{}, "dead")
	c.wantStatus("half", "a", outbox.Published)
	c.wantStatus("half", "b", outbox.Pending)
}

func purgeSince(c *storeCase) {
	c.insert(c.record("1", "", "a", "b"))
	c.settle(deliver(c.claim(1, "1")[0]))
	c.clock.Advance(time.Hour)
	c.settle(deliver(c.claimB(1, "1")[0]))
	c.clock.Advance(30 * time.Minute)
	c.purge(time.Hour, 10, 0)
	c.clock.Advance(31 * time.Minute)
	c.purge(time.Hour, 10, 1)
}

func (c *storeCase) publishMany(prefix string, n int) {
	c.Helper()
	recs := make([]outbox.Record, n)
	for i := range recs {
		recs[i] = c.record(fmt.Sprintf("%s%04d", prefix, i), "", "a")
	}
	c.insert(recs...)
	var settlements []outbox.Settlement
	for _, d := range c.claimWants(outbox.Want{Destination: "a", Room: n}).Deliveries {
		settlements = append(settlements, deliver(d))
	}
	c.settle(settlements...)
}

func purgeLimit(c *storeCase) {
	c.publishMany("old", 7)
	c.clock.Advance(2 * time.Hour)
	c.publishMany("young", 3)
	for _, want := range []int{3, 3, 1, 0} {
		c.purge(time.Hour, 3, want)
	}
	c.clock.Advance(2 * time.Hour)
	c.purge(time.Hour, 3, 3)
}

func purgePasses(c *storeCase) {
	c.killMany(600)
	c.publishMany("p", 5)
	c.clock.Advance(2 * time.Hour)
	c.purge(time.Hour, 3, 3)
	c.purge(time.Hour, 3, 2)
	if _, err := c.Store.Discard(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply); err != nil {
		c.Fatal(err)
	}
	c.clock.Advance(2 * time.Hour)
	c.purge(time.Hour, 1000, 600)
}
