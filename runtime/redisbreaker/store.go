package redisbreaker

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

var (
	//go:embed prelude.lua
	prelude string
	//go:embed acquire.lua
	acquireBody string
	//go:embed report.lua
	reportBody string
)

// store runs the scripts of one circuit.
type store struct {
	client          redis.UniversalClient
	acquire, report *redis.Script
	key             string
	rules           []any // the arguments that every script begins with
	budget          time.Duration
	// pacer leaves a store alone that has failed.
	pacer  *breaker.Breaker
	down   atomic.Bool
	name   string
	logger *slog.Logger
}

// verdict is a script's answer.
type verdict struct {
	yes        bool // admitted, or counted
	state      string
	generation int64         // of the state; negative when nothing is stored
	wait       time.Duration // until it is worth asking again
	failures   int64
}

const (
	stateClosed   = "closed"
	stateOpen     = "open"
	stateHalfOpen = "half_open"
)

func newStore(c Config, rules breaker.Config) (*store, error) {
	pacer, err := breaker.New(breaker.Config{
		Name:             c.Breaker.Name + " store",
		FailureThreshold: 1,
		HalfOpenMaxCalls: 1,
		RecoveryTime:     c.StorePause,
		MaxRecoveryTime:  c.StorePause,
	})
	if err != nil {
		return nil, err
	}
	logger := c.Breaker.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &store{
		client:  c.Client,
		acquire: redis.NewScript(prelude + acquireBody),
		report:  redis.NewScript(prelude + reportBody),
		key:     c.Prefix + c.Breaker.Name,
		rules: []any{
			rules.FailureThreshold, rules.HalfOpenMaxCalls,
			micros(rules.RecoveryTime), micros(rules.MaxRecoveryTime), micros(rules.Lease),
		},
		budget: c.Budget,
		pacer:  pacer,
		name:   c.Breaker.Name,
		logger: logger,
	}, nil
}

// micros rounds up, so that no time becomes 0.
func micros(d time.Duration) int64 {
	n := d.Microseconds()
	if d > time.Duration(n)*time.Microsecond {
		n++
	}
	return n
}

// run asks the store. Not ok: it cannot be asked now.
func (s *store) run(script *redis.Script, args ...any) (v verdict, ok bool) {
	v, err := breaker.Do(context.Background(), s.pacer, func(ctx context.Context) (verdict, error) {
		ctx, cancel := context.WithTimeout(ctx, s.budget)
		defer cancel()
		return parse(script.Run(ctx, s.client, []string{s.key}, append(s.rules[:len(s.rules):len(s.rules)], args...)...).Slice())
	})
	if _, paused := err.(*breaker.OpenError); paused {
		return verdict{}, false
	}
	s.tellEpisode(err)
	return v, err == nil
}

func (s *store) tellEpisode(err error) {
	switch {
	case err != nil && !s.down.Swap(true):
		s.logger.Warn("circuit breaker: store_unavailable", "circuit_name", s.name,
			"event", "store_unavailable", "error", err.Error())
	case err == nil && s.down.Load() && s.down.Swap(false):
		s.logger.Info("circuit breaker: store_available", "circuit_name", s.name,
			"event", "store_available")
	}
}

func parse(reply []any, err error) (verdict, error) {
	if err != nil {
		return verdict{}, err
	}
	if len(reply) == 5 {
		yes, ok0 := reply[0].(int64)
		state, ok1 := reply[1].(string)
		generation, ok2 := reply[2].(int64)
		wait, ok3 := reply[3].(int64)
		failures, ok4 := reply[4].(int64)
		if ok0 && ok1 && ok2 && ok3 && ok4 {
			return verdict{yes == 1, state, generation, time.Duration(wait) * time.Microsecond, failures}, nil
		}
	}
	return verdict{}, fmt.Errorf("redisbreaker: the script answered %v: want 5 values", reply)
}
