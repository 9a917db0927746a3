package redisbreaker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/redisbreaker"
)

// These tests need a Redis server at OUTBOXGEN_REDIS_ADDR, or 127.0.0.1:6379.
// They use keys of a prefix that is theirs alone, and remove them.

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

func address() string {
	if a := os.Getenv("OUTBOXGEN_REDIS_ADDR"); a != "" {
		return a
	}
	return "127.0.0.1:6379"
}

func newClient(address string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                  address,
		ContextTimeoutEnabled: true,
		MaxRetries:            -1,
		DialTimeout:           time.Second,
		ReadTimeout:           time.Hour, // only the breaker's budget ends a wait
	})
}

// fleet is one test's circuit in Redis.
type fleet struct {
	t      *testing.T
	redis  *redis.Client
	prefix string
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	client := newClient(address())
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Ping(t.Context()).Err(); err != nil {
		if os.Getenv("OUTBOXGEN_REQUIRE_SERVICES") == "1" {
			t.Fatalf("no Redis at %s: %v", address(), err)
		}
		t.Skipf("NOT TESTED: no Redis at %s (%v). Start one, or set OUTBOXGEN_REQUIRE_SERVICES=1 to fail instead.", address(), err)
	}
	f := &fleet{t: t, redis: client, prefix: fmt.Sprintf("outboxgen-test:%d:%x:", os.Getpid(), rand.Uint64())}
	t.Cleanup(f.clean)
	return f
}

func (f *fleet) clean() {
	ctx := context.Background()
	keys := f.redis.Scan(ctx, 0, f.prefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := f.redis.Del(ctx, keys.Val()).Err(); err != nil {
			f.t.Error(err)
		}
	}
	if err := keys.Err(); err != nil {
		f.t.Error(err)
	}
}

// member makes one process's breaker. Its budget is long, so that a busy
// machine is not taken for a broken store.
func (f *fleet) member(c redisbreaker.Config) *redisbreaker.Breaker {
	f.t.Helper()
	if c.Client == nil {
		c.Client = f.redis
	}
	if c.Breaker.Name == "" {
		c.Breaker.Name = "billing"
	}
	if c.Budget == 0 {
		c.Budget = 20 * time.Second
	}
	c.Prefix = f.prefix
	b, err := redisbreaker.New(c)
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

func (f *fleet) members(n int, c breaker.Config) []*redisbreaker.Breaker {
	f.t.Helper()
	var all []*redisbreaker.Breaker
	for range n {
		all = append(all, f.member(redisbreaker.Config{Breaker: c}))
	}
	return all
}

func (f *fleet) hash() map[string]string {
	f.t.Helper()
	h, err := f.redis.HGetAll(f.t.Context(), f.prefix+"billing").Result()
	if err != nil {
		f.t.Fatal(err)
	}
	return h
}

// age makes everything that is stored older by d: the same as waiting.
func (f *fleet) age(d time.Duration) {
	f.t.Helper()
	if err := redisbreaker.Age(f.t.Context(), f.redis, f.prefix+"billing", d); err != nil {
		f.t.Fatal(err)
	}
}

func acquire(t *testing.T, b *redisbreaker.Breaker) breaker.Permit {
	t.Helper()
	p, err := b.TryAcquire()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func report(t *testing.T, b *redisbreaker.Breaker, o breaker.Outcome, times int) {
	t.Helper()
	for range times {
		acquire(t, b).Done(o)
	}
}
