package redisbreaker

import (
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

// Defaults of Config.
const (
	DefaultPrefix     = "outboxgen:breaker:"
	DefaultBudget     = 50 * time.Millisecond
	DefaultStorePause = time.Second
)

// Config describes a breaker. Processes that share a circuit must have the
// same thresholds and times.
type Config struct {
	// Breaker is the local breaker's configuration, and the fleet's. Its Name
	// must be set: it names the circuit. Its Window must be zero.
	Breaker breaker.Config
	// Client reaches Redis 5 or later. Its option ContextTimeoutEnabled must
	// be set: without it a slow store holds calls up beyond the budget. It is
	// the caller's to close.
	Client redis.UniversalClient
	// Prefix stands before the name in the key. "": DefaultPrefix.
	Prefix string
	// Budget is how long a call may wait for Redis, each time. 0: DefaultBudget.
	Budget time.Duration
	// StorePause is how long Redis is left alone after a failure.
	// 0: DefaultStorePause.
	StorePause time.Duration
}

func (c Config) withDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.Budget == 0 {
		c.Budget = DefaultBudget
	}
	if c.StorePause == 0 {
		c.StorePause = DefaultStorePause
	}
	return c
}

func (c Config) validate() error {
	var faults []error
	fault := func(broken bool, format string, args ...any) {
		if broken {
			faults = append(faults, fmt.Errorf("redisbreaker %q: "+format, append([]any{c.Breaker.Name}, args...)...))
		}
	}
	fault(c.Breaker.Name == "", "Breaker.Name is empty: it names the circuit that the fleet shares")
	fault(c.Breaker.Window != breaker.Window{}, "Breaker.Window is set: rates are not shared, use FailureThreshold")
	fault(c.Client == nil, "Client is nil")
	fault(ignoresDeadlines(c.Client), "Client ignores deadlines: set its option ContextTimeoutEnabled")
	fault(c.Budget < 0, "Budget is %v: want more than 0, or 0 for the default", c.Budget)
	fault(c.StorePause < 0, "StorePause is %v: want more than 0, or 0 for the default", c.StorePause)
	return errors.Join(faults...)
}

// ignoresDeadlines looks into the clients whose options can be seen.
func ignoresDeadlines(c redis.UniversalClient) bool {
	switch c := c.(type) {
	case *redis.Client:
		return !c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return !c.Options().ContextTimeoutEnabled
	case *redis.Ring:
		return !c.Options().ContextTimeoutEnabled
	}
	return false
}
