package redisbreaker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// The scripts against package breaker, which has a model of its own: random
// sequences of calls, reports and time. Time passes in Redis by making what
// is stored older; its steps are minutes, so that the seconds that the test
// takes play no part.
func TestScripts_BehaveAsTheBreaker(t *testing.T) {
	addr := os.Getenv("OUTBOXGEN_REDIS_ADDR")
	if addr == "" {
		addr = "127.0.0.1:6379"
	}
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Ping(t.Context()).Err(); err != nil {
		if os.Getenv("OUTBOXGEN_REQUIRE_SERVICES") == "1" {
			t.Fatal(err)
		}
		t.Skipf("NOT TESTED: no Redis at %s: %v", addr, err)
	}
	random := rand.New(rand.NewPCG(21, 21))
	for round := range 300 {
		var now time.Duration
		c := Config{
			Client: client,
			Prefix: fmt.Sprintf("outboxgen-test:%d:%x:", os.Getpid(), rand.Uint64()),
			Budget: 20 * time.Second,
			Breaker: breaker.Config{
				Name:             "model",
				FailureThreshold: 1 + random.IntN(4),
				HalfOpenMaxCalls: 1 + random.IntN(3),
				RecoveryTime:     5 * time.Minute,
				MaxRecoveryTime:  5 * time.Minute << random.IntN(4),
				Lease:            7 * time.Minute,
				Now:              func() time.Duration { return now },
			},
		}.withDefaults()
		want, err := breaker.New(c.Breaker)
		if err != nil {
			t.Fatal(err)
		}
		s, err := newStore(c, want.Config())
		if err != nil {
			t.Fatal(err)
		}
		type call struct {
			permit breaker.Permit
			token  string
			v      verdict
		}
		var calls []call
		for step := range 60 {
			switch op := random.IntN(10); {
			case op < 5:
				token := fmt.Sprint(step)
				v, ok := s.run(s.acquire, token)
				p, err := want.TryAcquire()
				if !ok || v.yes != (err == nil) {
					t.Fatalf("round %d, step %d: admitted %v (%+v), want %v", round, step, v.yes, v, err)
				}
				if v.yes {
					calls = append(calls, call{p, token, v})
				}
			case op < 9 && len(calls) > 0:
				k := random.IntN(len(calls))
				o := []breaker.Outcome{breaker.Success, breaker.Failure, breaker.Failure, breaker.Neutral}[random.IntN(4)]
				calls[k].permit.Done(o)
				v, ok := s.run(s.report, calls[k].token, calls[k].v.generation, o.String())
				if !ok {
					t.Fatal("the store cannot be asked")
				}
				if got := map[string]breaker.State{stateClosed: breaker.Closed, stateOpen: breaker.Open, stateHalfOpen: breaker.HalfOpen}[v.state]; got != want.State() && v.state != stateOpen {
					t.Fatalf("round %d, step %d: %+v, want %v", round, step, v, want.State())
				}
				if uint64(v.failures) != want.Counts().ConsecutiveFailures {
					t.Fatalf("round %d, step %d: %d failures, want %d", round, step, v.failures, want.Counts().ConsecutiveFailures)
				}
				calls = append(calls[:k], calls[k+1:]...)
			default:
				d := time.Duration(1+random.IntN(7)) * time.Minute
				now += d
				if err := Age(t.Context(), client, s.key, d); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := client.Del(t.Context(), s.key).Err(); err != nil {
			t.Fatal(err)
		}
	}
}
