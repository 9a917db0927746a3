package storetest

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

var settleChecks = map[string]func(*storeCase){
	"Settle_EachVerdict":                         settleVerdicts,
	"Settle_OfALostLeaseChangesNothing":          settleLost,
	"Settle_LateSuccessNeverOverwritten":         settleLateFailure,
	"Settle_LateFailureOverwritesNothing":        settleLateSuccess,
	"Settle_SecondOfALeaseIsLost":                settleTwice,
	"Settle_CountsAfterTheEndUntilClaimedAnew":   settleAfterEnd,
	"Settle_GiveBackKeepsItsPlace":               settleGiveBackPlace,
	"Settle_UnspentKeepsTheRetryCount":           settleUnspent,
	"Settle_DoesNotStopWithItsContext":           settleCancelled,
	"Settle_ManyDestinationsAtOnce":              settleDestinations,
	"Settle_KeepsFailuresOfAttempts":             settleAttempts,
	"Settle_BoundsAttemptsAndErrorTexts":         settleBounds,
	"Settle_QuarantineWritesTheDeadLetter":       settleQuarantine,
	"Settle_OfNothing":                           settleNothing,
	"Renew_MovesTheEnd":                          renewMoves,
	"Renew_OfALostLeaseSaysSo":                   renewLost,
	"Settle_UnknownVerdictIsAnErrorAndAllUndone": settleUnknown,
}

func settleVerdicts(c *storeCase) {
	for _, name := range []string{"delivered", "retried", "dead", "given back"} {
		c.put(name, "")
	}
	ds := c.claim(4, "delivered", "retried", "dead", "given back")
	c.settle(deliver(ds[0]), retry(ds[1], time.Hour), quarantine(ds[2]), giveBack(ds[3], time.Hour))
	c.wantStatus("delivered", "a", outbox.Published)
	c.wantStatus("retried", "a", outbox.Pending)
	c.wantStatus("dead", "a", outbox.DeadLetter)
	c.wantStatus("given back", "a", outbox.Pending)
	c.clock.Advance(time.Hour)
	ds = c.claim(4, "retried", "given back")
	if ds[0].RetryCount != 1 || ds[1].RetryCount != 0 {
		c.Errorf("retry counts are %d and %d, want 1 and 0", ds[0].RetryCount, ds[1].RetryCount)
	}
}

func settleLost(c *storeCase) {
	c.put("1", "")
	d := c.claim(1, "1")[0]
	for name, l := range map[string]outbox.Lease{
		"another token":       {Seq: d.Seq, Destination: "a", Token: d.Lease.Token + 1},
		"no token":            {Seq: d.Seq, Destination: "a"},
		"another destination": {Seq: d.Seq, Destination: "b", Token: d.Lease.Token},
		"another event":       {Seq: d.Seq + 1, Destination: "a", Token: d.Lease.Token},
	} {
		for verdict := outbox.Deliver; verdict <= outbox.GiveBack; verdict++ {
			lost, err := c.Store.Settle(c.ctx, []outbox.Settlement{{Lease: l, Verdict: verdict, Kind: outbox.FailurePermanent}})
			c.must(err)
			if !lost[0] {
				c.Errorf("verdict %d with %s was not lost", verdict, name)
			}
		}
	}
	c.wantStatus("1", "a", outbox.Processing)
	c.settle(deliver(d))
}

// A claims and stalls, its lease ends, B claims and succeeds, A reports 500.
func settleLateFailure(c *storeCase) {
	c.put("1", "")
	a := c.claim(1, "1")[0]
	c.crash()
	b := c.claimSuspect("1")
	c.settle(deliver(b))
	c.settleLost([]bool{true, true, true}, retry(a, 0), quarantine(a), giveBack(a, 0))
	c.wantStatus("1", "a", outbox.Published)
	c.wantDead(outbox.DeadLetterFilter{})
}

// The other way round: B fails, A reports 200.
func settleLateSuccess(c *storeCase) {
	c.put("1", "")
	a := c.claim(1, "1")[0]
	c.crash()
	b := c.claimSuspect("1")
	c.settleLost([]bool{true}, deliver(a)) // while B is at it
	c.settle(retry(b, 0))
	c.settleLost([]bool{true}, deliver(a))
	c.claim(1, "1")
}

func settleTwice(c *storeCase) {
	c.put("1", "")
	d := c.claim(1, "1")[0]
	c.settleLost([]bool{false, true}, retry(d, 0), deliver(d))
	c.settleLost([]bool{true}, deliver(d))
	d = c.claim(1, "1")[0]
	if d.RetryCount != 1 {
		c.Errorf("the retry count is %d", d.RetryCount)
	}
	c.settle(deliver(d))
	c.settleLost([]bool{true}, deliver(d))
}

func settleAfterEnd(c *storeCase) {
	c.put("1", "")
	d := c.claim(1, "1")[0]
	c.clock.Advance(10 * lease)
	c.settle(deliver(d))
	c.wantStatus("1", "a", outbox.Published)
	c.claimSuspect("")
}

func settleGiveBackPlace(c *storeCase) {
	for _, name := range []string{"1", "2", "3"} {
		c.put(name, "")
		c.clock.Advance(time.Second)
	}
	ds := c.claim(2, "1", "2")
	c.settle(giveBack(ds[1], 0), giveBack(ds[0], 0))
	c.claim(3, "1", "2", "3")
}

func settleUnspent(c *storeCase) {
	c.put("1", "")
	for range 5 {
		d := c.claim(1, "1")[0]
		c.settle(outbox.Settlement{Lease: d.Lease, Verdict: outbox.Retry, Attempted: true, Failure: failure("429")})
	}
	if d := c.claim(1, "1")[0]; d.RetryCount != 0 {
		c.Errorf("the retry count is %d", d.RetryCount)
	}
}

func settleCancelled(c *storeCase) {
	c.put("1", "")
	d := c.claim(1, "1")[0]
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	lost, err := c.Store.Settle(ctx, []outbox.Settlement{deliver(d)})
	if err != nil || lost[0] {
		c.Fatalf("Settle with a context that has ended: %v, %v", lost, err)
	}
	c.wantStatus("1", "a", outbox.Published)
}

func settleDestinations(c *storeCase) {
	c.insert(c.record("1", "k", "a", "b"), c.record("2", "k", "a", "b"))
	claim := c.claimWants(outbox.Want{Destination: "a", Room: 5}, outbox.Want{Destination: "b", Room: 5})
	c.wantNames(claim.Deliveries, "1", "2", "1", "2")
	a1, a2, b1, b2 := claim.Deliveries[0], claim.Deliveries[1], claim.Deliveries[2], claim.Deliveries[3]
	c.settle(deliver(b1), retry(a1, 0), deliver(b2), giveBack(a2, 0))
	c.wantStatus("2", "b", outbox.Published)
	c.claim(5, "1", "2")
}

func settleAttempts(c *storeCase) {
	c.insert(c.record("1", "", "a", "b"))
	d := c.claim(1, "1")[0]
	c.settle(retry(d, 0))
	d = c.claim(1, "1")[0]
	second := failure("connection refused")
	second.StatusCode, second.Cause = 0, "refused"
	c.settle(outbox.Settlement{Lease: d.Lease, Verdict: outbox.Quarantine, Kind: outbox.FailureExhausted, Attempted: true, Spent: true, Failure: second})
	b := c.claimWants(outbox.Want{Destination: "b", Room: 1}).Deliveries[0]
	c.settle(outbox.Settlement{Lease: b.Lease, Verdict: outbox.GiveBack, Failure: failure("not attempted")})

	got, err := c.Store.Attempts(c.ctx, d.ID.String(), "")
	c.must(err)
	want := []outbox.AttemptInfo{
		{EventID: d.ID.String(), Destination: "a", Attempt: 1, Failure: *failure("refused")},
		{EventID: d.ID.String(), Destination: "a", Attempt: 2, Failure: *second},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		c.Errorf("attempts are %+v, want %+v", got, want)
	}
	if got, err := c.Store.Attempts(c.ctx, d.ID.String(), "b"); err != nil || len(got) != 0 {
		c.Errorf("attempts at b are %+v, %v", got, err)
	}
}

func settleBounds(c *storeCase) {
	c.put("1", "")
	texts := []string{
		"",
		"a\x00b",
		"\xff\xfe invalid",
		strings.Repeat("x", 100_000),
		strings.Repeat("\xff", 5000),
		"x" + strings.Repeat("é", 2000),
		strings.Repeat("😀", 2000),
	}
	var d *outbox.Delivery
	for i := range 100 {
		d = c.claim(1, "1")[0]
		s := retry(d, 0)
		s.Failure.Message = texts[i%len(texts)]
		s.Failure.Cause = texts[i%len(texts)]
		c.settle(s)
	}
	got, err := c.Store.Attempts(c.ctx, d.ID.String(), "a")
	c.must(err)
	if len(got) == 0 || len(got) > 50 {
		c.Errorf("%d attempts of 100 are kept, want the last few", len(got))
	}
	for i, a := range got {
		if want := 100 - len(got) + i + 1; a.Attempt != want {
			c.Errorf("kept attempt %d has number %d, want %d", i, a.Attempt, want)
		}
		if !utf8.ValidString(a.Message) || len(a.Message) > 2048 || strings.Contains(a.Message, "\x00") {
			c.Errorf("the message of attempt %d is %d bytes, valid: %v", a.Attempt, len(a.Message), utf8.ValidString(a.Message))
		}
	}
}

func settleQuarantine(c *storeCase) {
	rec := c.record("1", "k", "a")
	rec.Type, rec.Version = "order.paid", 2
	c.insert(rec)
	c.settle(retry(c.claim(1, "1")[0], 0))
	c.clock.Advance(time.Second)
	d := c.claim(1, "1")[0]
	c.clock.Advance(time.Second)
	c.settle(quarantine(d))
	info := c.wantDead(outbox.DeadLetterFilter{WithPayload: true}, "1")[0]
	want := outbox.DeadLetterInfo{
		ID: info.ID, EventID: rec.ID.String(), EventType: "order.paid", Version: 2, Destination: "a", OrderingKey: "k", IdempotencyKey: rec.IdempotencyKey,
		Kind: outbox.FailurePermanent, Reason: "rejected", RetryCount: 2, QuarantinedAt: c.clock.Now(), EventCreatedAt: d.CreatedAt, Payload: rec.Payload,
	}
	if fmt.Sprint(info) != fmt.Sprint(want) || info.ID == 0 {
		c.Errorf("the dead letter is\n%+v, want\n%+v", info, want)
	}
	if plain := c.wantDead(outbox.DeadLetterFilter{}, "1")[0]; plain.Payload != nil {
		c.Error("the payload came without being asked for")
	}
}

func settleNothing(c *storeCase) {
	lost, err := c.Store.Settle(c.ctx, nil)
	if err != nil || len(lost) != 0 {
		c.Errorf("Settle of nothing: %v, %v", lost, err)
	}
	if _, err := c.Store.Renew(c.ctx, nil, lease); err != nil {
		c.Errorf("Renew of nothing: %v", err)
	}
}

func settleUnknown(c *storeCase) {
	c.put("1", "")
	c.put("2", "")
	ds := c.claim(2, "1", "2")
	if _, err := c.Store.Settle(c.ctx, []outbox.Settlement{deliver(ds[0]), {Lease: ds[1].Lease}}); err == nil {
		c.Error("a settlement without a verdict succeeded")
	}
	c.wantStatus("1", "a", outbox.Processing)
	c.settle(deliver(ds[0]), deliver(ds[1]))
}

func renewMoves(c *storeCase) {
	c.put("1", "")
	d := c.claim(1, "1")[0]
	for range 5 {
		c.clock.Advance(lease - time.Second)
		lost, err := c.Store.Renew(c.ctx, []outbox.Lease{d.Lease}, lease)
		c.must(err)
		if lost[0] {
			c.Fatal("a renewal was lost")
		}
	}
	c.clock.Advance(lease - time.Microsecond)
	c.claimSuspect("")
	c.clock.Advance(time.Microsecond)
	c.claimSuspect("1")
}

func renewLost(c *storeCase) {
	c.put("1", "")
	c.put("2", "")
	ds := c.claim(2, "1", "2")
	c.crash()
	again := c.claimSuspect("1")
	lost, err := c.Store.Renew(c.ctx, []outbox.Lease{ds[0].Lease, ds[1].Lease, again.Lease}, lease)
	c.must(err)
	// The second's lease has ended, but nobody has claimed it anew.
	if !lost[0] || lost[1] || lost[2] {
		c.Errorf("lost is %v, want only the first", lost)
	}
	c.settle(deliver(again), deliver(ds[1]))
	if lost, err := c.Store.Renew(c.ctx, []outbox.Lease{again.Lease}, lease); err != nil || !lost[0] {
		c.Errorf("a renewal after the settle: %v, %v", lost, err)
	}
}
