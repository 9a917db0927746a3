package storetest

import (
	"fmt"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

var deadLetterChecks = map[string]func(*storeCase){
	"DeadLetters_Filter":             deadLettersFilter,
	"DeadLetters_Pages":              deadLettersPages,
	"Replay_KeepsKeyAndBytes":        replayKeeps,
	"Replay_DryRunChangesNothing":    replayDryRun,
	"Replay_ManyInPages":             replayMany,
	"Replay_LimitsItself":            replayLimit,
	"Replay_OfWhatDiesAgainEnds":     replayAgain,
	"Discard_IsForGood":              discardForGood,
	"Discard_DryRunChangesNothing":   discardDryRun,
	"Discard_LeavesOtherDestination": discardOther,
}

// kill makes a dead letter of an event for "a".
func (c *storeCase) kill(name, key, eventType string, kind outbox.FailureKind, reason string) {
	c.Helper()
	rec := c.record(name, key, "a")
	rec.Type = eventType
	c.insert(rec)
	d := c.claim(1, name)[0]
	c.settle(outbox.Settlement{Lease: d.Lease, Verdict: outbox.Quarantine, Kind: kind, Attempted: true, Spent: true, Failure: failure(reason)})
}

func deadLettersFilter(c *storeCase) {
	c.kill("1", "", "order.created", outbox.FailurePermanent, "status 422: no such customer")
	c.kill("2", "", "order.paid", outbox.FailureExhausted, "timeout")
	c.clock.Advance(time.Hour)
	c.kill("3", "k", "order.paid", outbox.FailureUndecodable, "100% _broken_")
	b := c.record("4", "", "b")
	c.insert(b)
	c.settle(quarantine(c.claimWants(outbox.Want{Destination: "b", Room: 1}).Deliveries[0]))
	all := c.wantDead(outbox.DeadLetterFilter{}, "1", "2", "3", "4")

	c.wantDead(outbox.DeadLetterFilter{IDs: []int64{all[2].ID, all[0].ID, 1 << 40}}, "1", "3")
	c.wantDead(outbox.DeadLetterFilter{IDs: []int64{}})
	c.wantDead(outbox.DeadLetterFilter{EventID: b.ID.String()}, "4")
	c.wantDead(outbox.DeadLetterFilter{EventID: "nobody's"})
	c.wantDead(outbox.DeadLetterFilter{Destination: "a"}, "1", "2", "3")
	c.wantDead(outbox.DeadLetterFilter{EventType: "order.paid"}, "2", "3")
	c.wantDead(outbox.DeadLetterFilter{Kind: outbox.FailurePermanent}, "1", "4")
	c.wantDead(outbox.DeadLetterFilter{OlderThan: time.Hour}, "1", "2")
	c.wantDead(outbox.DeadLetterFilter{OlderThan: time.Hour + time.Microsecond})
	c.wantDead(outbox.DeadLetterFilter{ReasonMatches: "% _"}, "3") // a substring, no pattern
	c.wantDead(outbox.DeadLetterFilter{After: all[1].ID}, "3", "4")
	c.wantDead(outbox.DeadLetterFilter{Limit: 2}, "1", "2")
	c.wantDead(outbox.DeadLetterFilter{Destination: "a", EventType: "order.paid", Kind: outbox.FailureExhausted, ReasonMatches: "time", Limit: 5}, "2")
}

func deadLettersPages(c *storeCase) {
	const n = outbox.DefaultPage + 5
	c.killMany(n)
	first, err := c.Store.DeadLetters(c.ctx, outbox.DeadLetterFilter{})
	c.must(err)
	if len(first) != outbox.DefaultPage {
		c.Fatalf("a page has %d dead letters, want %d", len(first), outbox.DefaultPage)
	}
	rest, err := c.Store.DeadLetters(c.ctx, outbox.DeadLetterFilter{After: first[len(first)-1].ID})
	c.must(err)
	if len(rest) != 5 || rest[0].ID <= first[len(first)-1].ID {
		c.Errorf("the second page has %d dead letters", len(rest))
	}
}

func (c *storeCase) killMany(n int) {
	c.Helper()
	recs := make([]outbox.Record, n)
	for i := range recs {
		recs[i] = c.record(fmt.Sprintf("%04d", i), "", "a")
	}
	c.insert(recs...)
	var settlements []outbox.Settlement
	for _, d := range c.claimWants(outbox.Want{Destination: "a", Room: n}).Deliveries {
		settlements = append(settlements, quarantine(d))
	}
	c.settle(settlements...)
}

func replayKeeps(c *storeCase) {
	c.put("1", "")
	before := c.claim(1, "1")[0]
	c.settle(retry(before, 0))
	c.settle(quarantine(c.claim(1, "1")[0]))
	c.clock.Advance(time.Hour)
	replayed, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{EventID: before.ID.String(), WithPayload: true}, outbox.Apply)
	c.must(err)
	c.wantInfos(replayed, "1")
	c.wantDead(outbox.DeadLetterFilter{})
	c.wantStatus("1", "a", outbox.Pending)
	d := c.claim(1, "1")[0]
	if d.IdempotencyKey != before.IdempotencyKey || string(d.Payload) != string(before.Payload) || d.Seq != before.Seq || !d.CreatedAt.Equal(before.CreatedAt) {
		c.Errorf("the replayed event is %+v, was %+v", *d.Event, *before.Event)
	}
	if d.RetryCount != 0 || d.ReplayCount != 1 || d.Age != 0 {
		c.Errorf("the replayed delivery is %+v", *d)
	}
	c.settle(quarantine(d))
	if info := c.wantDead(outbox.DeadLetterFilter{}, "1")[0]; info.ReplayCount != 1 || info.RetryCount != 1 {
		c.Errorf("dead again, it is %+v", info)
	}
	attempts, err := c.Store.Attempts(c.ctx, before.ID.String(), "a")
	c.must(err)
	if len(attempts) != 3 {
		c.Errorf("%d attempts are kept over a replay, want 3", len(attempts))
	}
}

func replayDryRun(c *storeCase) {
	c.kill("1", "", "order.created", outbox.FailurePermanent, "x")
	would, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{}, outbox.DryRun)
	c.must(err)
	c.wantInfos(would, "1")
	c.wantDead(outbox.DeadLetterFilter{}, "1")
	c.claim(5)
}

func replayMany(c *storeCase) {
	const n = 250
	c.killMany(n)
	replayed, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{Destination: "a"}, outbox.Apply)
	c.must(err)
	if len(replayed) != n {
		c.Errorf("%d were replayed, want %d", len(replayed), n)
	}
	c.wantDead(outbox.DeadLetterFilter{})
	if got := len(c.claimWants(outbox.Want{Destination: "a", Room: n + 1}).Deliveries); got != n {
		c.Errorf("%d are claimable, want %d", got, n)
	}
}

func replayLimit(c *storeCase) {
	c.killMany(5)
	replayed, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{Limit: 2}, outbox.Apply)
	c.must(err)
	c.wantInfos(replayed, "0000", "0001")
	c.wantDead(outbox.DeadLetterFilter{}, "0002", "0003", "0004")
}

// A dead letter that is replayed and dies again is a new one: replaying all
// does not run in a circle.
func replayAgain(c *storeCase) {
	c.kill("1", "", "order.created", outbox.FailurePermanent, "x")
	first := c.wantDead(outbox.DeadLetterFilter{}, "1")[0]
	_, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.settle(quarantine(c.claim(1, "1")[0]))
	if again := c.wantDead(outbox.DeadLetterFilter{}, "1")[0]; again.ID <= first.ID {
		c.Errorf("the new dead letter has id %d after %d", again.ID, first.ID)
	}
	replayed, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{IDs: []int64{first.ID}}, outbox.Apply)
	c.must(err)
	c.wantInfos(replayed)
}

func discardForGood(c *storeCase) {
	c.kill("1", "", "order.created", outbox.FailurePermanent, "x")
	discarded, err := c.Store.Discard(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.wantInfos(discarded, "1")
	c.wantStatus("1", "a", outbox.DeadLetter)
	replayed, err := c.Store.Replay(c.ctx, outbox.DeadLetterFilter{}, outbox.Apply)
	c.must(err)
	c.wantInfos(replayed)
	c.claim(5)
}

func discardDryRun(c *storeCase) {
	c.kill("1", "", "order.created", outbox.FailurePermanent, "x")
	would, err := c.Store.Discard(c.ctx, outbox.DeadLetterFilter{}, outbox.DryRun)
	c.must(err)
	c.wantInfos(would, "1")
	c.wantDead(outbox.DeadLetterFilter{}, "1")
}

func discardOther(c *storeCase) {
	c.insert(c.record("1", "", "a", "b"))
	c.settle(quarantine(c.claim(1, "1")[0]))
	c.settle(quarantine(c.claimWants(outbox.Want{Destination: "b", Room: 1}).Deliveries[0]))
	_, err := c.Store.Discard(c.ctx, outbox.DeadLetterFilter{Destination: "a"}, outbox.Apply)
	c.must(err)
	left := c.wantDead(outbox.DeadLetterFilter{}, "1")
	if left[0].Destination != "b" {
		c.Errorf("the dead letter at %s is left", left[0].Destination)
	}
}
