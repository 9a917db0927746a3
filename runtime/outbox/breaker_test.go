package outbox

import (
	"testing"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

func newBreaker(t *testing.T, c breaker.Config) *breaker.Breaker {
	t.Helper()
	b, err := breaker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
