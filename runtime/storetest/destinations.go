package storetest

import (
	"fmt"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

var destinationChecks = map[string]func(*storeCase){
	"Destinations_CountsWhatIsOpenAndDead": destinationsCount,
	"Destinations_ShowsMarks":              destinationsMarks,
	"SetDestination_RefusesNonsense":       destinationsNonsense,
}

func destinationsCount(c *storeCase) {
	for i := range 4 {
		c.put(fmt.Sprint("k", i), "k")
	}
	c.put("1", "")
	c.put("2", "")
	c.insert(c.record("3", "", "renamed"))
	ds := c.claim(2, "k0", "1")
	c.settle(quarantine(ds[1]))
	c.clock.Advance(10 * time.Second)
	got, err := c.Store.Destinations(c.ctx)
	c.must(err)
	want := []outbox.DestinationState{
		{Destination: "a", Pending: 4, Processing: 1, DeadLetters: 1, OldestDue: 10 * time.Second},
		{Destination: "renamed", Pending: 1, OldestDue: 10 * time.Second},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		c.Errorf("destinations are\n%+v, want\n%+v", got, want)
	}
}

func destinationsMarks(c *storeCase) {
	c.must(c.Store.SetDestination(c.ctx, outbox.DestinationChange{Destination: "p", Action: outbox.Pause, For: time.Minute, Reason: "busy"}))
	c.must(c.Store.SetDestination(c.ctx, outbox.DestinationChange{Destination: "d", Action: outbox.Disable, Reason: "gone"}))
	c.must(c.Store.SetDestination(c.ctx, outbox.DestinationChange{Destination: "never seen", Action: outbox.Resume}))
	c.must(c.Store.SetDestination(c.ctx, outbox.DestinationChange{Destination: "never seen", Action: outbox.Enable}))
	c.clock.Advance(time.Second)
	got, err := c.Store.Destinations(c.ctx)
	c.must(err)
	want := []outbox.DestinationState{{Destination: "d", DisabledReason: "gone"}, {Destination: "p", PausedFor: 59 * time.Second, Reason: "busy"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		c.Errorf("destinations are\n%+v, want\n%+v", got, want)
	}
}

func destinationsNonsense(c *storeCase) {
	for _, change := range []outbox.DestinationChange{{Action: outbox.Pause, For: time.Hour}, {Destination: "a"}, {Destination: "a", Action: 99}} {
		if err := c.Store.SetDestination(c.ctx, change); err == nil {
			c.Errorf("SetDestination(%+v) succeeded", change)
		}
	}
}
