package redisbreaker

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// Answers that overtake each other do not turn the local breaker back.
func TestFollow_IgnoresOlderAnswers(t *testing.T) {
	client := redis.NewClient(&redis.Options{ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	var now time.Duration
	b, err := New(Config{Client: client, Breaker: breaker.Config{Name: "billing", Now: func() time.Duration { return now }}})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		v    verdict
		want breaker.State
	}{
		{verdict{state: stateClosed, generation: -100}, breaker.Closed}, // nothing is stored
		{verdict{state: stateOpen, generation: 300, wait: time.Hour}, breaker.Open},
		{verdict{state: stateClosed, generation: -200}, breaker.Open},
		{verdict{state: stateClosed, generation: 400}, breaker.Closed},
		{verdict{state: stateOpen, generation: 300, wait: time.Hour}, breaker.Closed},
		{verdict{state: stateHalfOpen, generation: 350}, breaker.Closed},
		{verdict{state: stateOpen, generation: 500, wait: time.Minute}, breaker.Open},
	} {
		b.follow(step.v)
		if got := b.State(); got != step.want {
			t.Fatalf("after %+v: %v, want %v", step.v, got, step.want)
		}
	}
	// Our own recovery time may end a little before the fleet's.
	now += time.Minute
	b.follow(verdict{state: stateOpen, generation: 500, wait: time.Millisecond})
	if b.State() != breaker.Open || b.RetryIn() != time.Millisecond {
		t.Fatalf("%v, retry in %v", b.State(), b.RetryIn())
	}
}
