package storetest

import (
	"time"

	"github.com/outboxgen/outboxgen/runtime/outboxtest"
)

// newClock is the store's clock, which only the suite moves.
func newClock() *outboxtest.Clock {
	return outboxtest.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
}
