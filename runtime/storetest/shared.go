package storetest

import (
	"fmt"
	"sync"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

var sharedChecks = map[string]func(*storeCase){
	"Shared_TwoStoresClaimNothingTwice":  sharedClaims,
	"Shared_LeaseIsFencedBetweenStores":  sharedFence,
	"Shared_PauseHoldsForTheOther":       sharedPause,
	"Shared_InsertsAndClaimsAtOnceOrder": sharedOrder,
}

func (c *storeCase) stores() []Store {
	if c.Other == nil {
		return []Store{c.Store}
	}
	return []Store{c.Store, c.Other}
}

func sharedClaims(c *storeCase) {
	const n = 400
	recs := make([]outbox.Record, n)
	for i := range recs {
		recs[i] = c.record(fmt.Sprintf("%04d", i), "", "a")
	}
	c.insert(recs...)
	var mu sync.Mutex
	seen := make(map[int64]int)
	var wg sync.WaitGroup
	for i := range 4 {
		store := c.stores()[i%len(c.stores())]
		wg.Go(func() {
			for {
				claim, err := store.Claim(c.ctx, outbox.ClaimRequest{Wants: []outbox.Want{{Destination: "a", Room: 7, Lease: lease, Suspect: true}}})
				if err != nil {
					c.Errorf("claim: %v", err)
					return
				}
				if len(claim.Deliveries) == 0 {
					return
				}
				var settlements []outbox.Settlement
				mu.Lock()
				for _, d := range claim.Deliveries {
					seen[d.Seq]++
					settlements = append(settlements, deliver(d))
				}
				mu.Unlock()
				lost, err := store.Settle(c.ctx, settlements)
				if err != nil {
					c.Errorf("settle: %v", err)
					return
				}
				for i, l := range lost {
					if l {
						c.Errorf("settlement of %d was lost", settlements[i].Lease.Seq)
					}
				}
			}
		})
	}
	wg.Wait()
	if len(seen) != n {
		c.Errorf("%d of %d were claimed", len(seen), n)
	}
	for seq, times := range seen {
		if times != 1 {
			c.Errorf("%d was claimed %d times", seq, times)
		}
	}
}

func sharedFence(c *storeCase) {
	if c.Other == nil {
		c.Skip("this store cannot be shared")
	}
	c.put("1", "k")
	d := c.claim(1, "1")[0]
	c.crash()
	claim, err := c.Other.Claim(c.ctx, outbox.ClaimRequest{CrashLimit: 5, Wants: []outbox.Want{{Destination: "a", Lease: lease, Suspect: true}}})
	c.must(err)
	c.wantNames(claim.Deliveries, "1")
	c.settleLost([]bool{true}, deliver(d))
	lost, err := c.Other.Settle(c.ctx, []outbox.Settlement{deliver(claim.Deliveries[0])})
	c.must(err)
	if lost[0] {
		c.Error("the second holder's settle was lost")
	}
}

func sharedPause(c *storeCase) {
	if c.Other == nil {
		c.Skip("this store cannot be shared")
	}
	c.put("1", "")
	c.must(c.Other.SetDestination(c.ctx, outbox.DestinationChange{Destination: "a", Action: outbox.Disable, Reason: "by the other"}))
	claim := c.claimWants(outbox.Want{Destination: "a", Room: 1})
	c.wantNames(claim.Deliveries)
	if claim.States[0].Disabled != "by the other" {
		c.Errorf("the state is %+v", claim.States[0])
	}
}

// Writers insert while others claim and settle: per key, everything is
// delivered once and in commit order.
func sharedOrder(c *storeCase) {
	const writers, each, keys = 4, 60, 5
	var mu sync.Mutex
	delivered := make(map[string][]int64)
	left := writers * each
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				rec := c.record(fmt.Sprintf("%d-%04d", w, i), fmt.Sprint("k", i%keys), "a")
				err := c.InTx(c.ctx, func(tx Tx) error {
					_, err := tx.Insert(c.ctx, rec)
					return err
				})
				if err != nil {
					c.Errorf("insert: %v", err)
				}
			}
		})
	}
	for _, store := range append(c.stores(), c.Store) {
		wg.Go(func() {
			for more := true; more && c.ctx.Err() == nil; {
				claim, err := store.Claim(c.ctx, outbox.ClaimRequest{Wants: []outbox.Want{{Destination: "a", Room: 5, Lease: lease}}})
				if err != nil {
					c.Errorf("claim: %v", err)
					return
				}
				var settlements []outbox.Settlement
				mu.Lock()
				for _, d := range claim.Deliveries {
					delivered[d.OrderingKey] = append(delivered[d.OrderingKey], d.Seq)
					settlements = append(settlements, deliver(d))
				}
				left -= len(settlements)
				more = left > 0
				mu.Unlock()
				if _, err := store.Settle(c.ctx, settlements); err != nil {
					c.Errorf("settle: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if left != 0 {
		c.Errorf("%d more were inserted than delivered", left)
	}
	for key, seqs := range delivered {
		for i := 1; i < len(seqs); i++ {
			if seqs[i] <= seqs[i-1] {
				c.Errorf("key %s was delivered in the order %v", key, seqs)
				break
			}
		}
	}
}
