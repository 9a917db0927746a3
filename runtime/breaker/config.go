package breaker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// What the zero Config means.
const (
	DefaultFailureThreshold = 3
	DefaultRecoveryTime     = 10 * time.Second
	DefaultRecoveryGrowth   = 6 // MaxRecoveryTime in units of RecoveryTime
	DefaultHalfOpenMaxCalls = 2
	DefaultBaseBackoff      = 500 * time.Millisecond
	DefaultMaxBackoff       = 5 * time.Second
	DefaultLease            = time.Minute
	DefaultMinimumCalls     = 10
	DefaultBuckets          = 10
	DefaultFailureRate      = 50 // percent
)

// Largest sizes that New accepts: they bound memory.
const (
	maxSlots       = 1 << 16
	maxWindowCalls = 1 << 20
	maxBuckets     = 1 << 12
)

// Config describes a breaker. The zero value works: each zero field takes the
// default written beside it.
type Config struct {
	// Name is the circuit's name in errors and events. It may be empty.
	Name string

	// FailureThreshold is how many failures in a row open the breaker, and
	// with them the bound at the trip edge (see the package comment).
	// 0: DefaultFailureThreshold; with a Window: no counting in a row.
	FailureThreshold int
	// Window opens the breaker by rates; the zero Window does not.
	Window Window

	// RecoveryTime is how long the breaker stays open. 0: DefaultRecoveryTime.
	RecoveryTime time.Duration
	// MaxRecoveryTime caps the recovery time, which doubles with every failed
	// recovery. Set it to RecoveryTime for a constant one.
	// 0: DefaultRecoveryGrowth times RecoveryTime.
	MaxRecoveryTime time.Duration
	// HalfOpenMaxCalls is how many probes may run at once in HALF_OPEN, and
	// how many successes close the breaker. 0: DefaultHalfOpenMaxCalls.
	HalfOpenMaxCalls int
	// Lease is how long a probe, or a call at the trip edge, may hold its
	// slot. It must be longer than a call can take: a probe that answers
	// after its lease is not counted. 0: DefaultLease.
	Lease time.Duration

	// BaseBackoff and MaxBackoff bound OpenError.Backoff.
	// 0: DefaultBaseBackoff, DefaultMaxBackoff.
	BaseBackoff, MaxBackoff time.Duration

	// Classify tells what the error of a call means. nil: DefaultClassify.
	Classify func(ctx context.Context, err error) Outcome

	// OnTransition is called after every change of state, one call at a time,
	// in order, outside the breaker's lock and on a goroutine of its own. It
	// may be slow, may call the breaker, and may panic: that is logged.
	OnTransition func(Transition)
	// Logger gets one record an event. nil: none.
	Logger *slog.Logger
	// Detail says which events are logged.
	Detail Detail

	// Now reads a clock that never runs backwards; only differences matter.
	// nil: the monotonic clock. For tests.
	Now func() time.Duration
	// Random returns a number in [0, n) and is safe for concurrent use.
	// nil: math/rand/v2's.
	Random func(n int64) int64
}

// Window counts the calls that rates are taken of: either the last Calls
// calls, or those of the last Width.
type Window struct {
	// Calls is the size of a count window.
	Calls int
	// Width is the length of a time window, kept in Buckets equal parts (0:
	// DefaultBuckets). The oldest part leaves as a whole, so the window spans
	// between Width less one part and Width.
	Width   time.Duration
	Buckets int

	// MinimumCalls must be in the window before a rate counts.
	// 0: DefaultMinimumCalls, or Calls when that is smaller.
	MinimumCalls int
	// FailureRate in percent, of which the breaker opens when it is reached;
	// exact to 0.0001. 0: DefaultFailureRate, or off when SlowCallRate is set.
	FailureRate float64
	// SlowCallRate in percent, of calls that took longer than SlowCall. 0: off.
	// With it, a slow probe counts as a failed one.
	SlowCallRate float64
	SlowCall     time.Duration
}

func (w Window) enabled() bool { return w != Window{} }

// Detail says which events are logged.
type Detail int

const (
	// Transitions: changes of state, and rejections, sampled with a count.
	Transitions Detail = iota
	// EveryCall: each call, rejection and stale result besides.
	EveryCall
)

// withDefaults fills the zero fields.
func (c Config) withDefaults() Config {
	if c.FailureThreshold == 0 && !c.Window.enabled() {
		c.FailureThreshold = DefaultFailureThreshold
	}
	setDefault(&c.RecoveryTime, DefaultRecoveryTime)
	if c.MaxRecoveryTime == 0 && c.RecoveryTime > 0 {
		c.MaxRecoveryTime = math.MaxInt64
		if c.RecoveryTime < math.MaxInt64/DefaultRecoveryGrowth {
			c.MaxRecoveryTime = c.RecoveryTime * DefaultRecoveryGrowth
		}
	}
	setDefault(&c.HalfOpenMaxCalls, DefaultHalfOpenMaxCalls)
	setDefault(&c.Lease, DefaultLease)
	if c.BaseBackoff == 0 {
		c.BaseBackoff = DefaultBaseBackoff
		if c.MaxBackoff > 0 {
			c.BaseBackoff = min(c.BaseBackoff, c.MaxBackoff)
		}
	}
	setDefault(&c.MaxBackoff, max(DefaultMaxBackoff, c.BaseBackoff))
	if c.Classify == nil {
		c.Classify = DefaultClassify
	}
	if w := &c.Window; w.enabled() {
		if w.Width != 0 {
			setDefault(&w.Buckets, DefaultBuckets)
		}
		if w.MinimumCalls == 0 {
			w.MinimumCalls = DefaultMinimumCalls
			if w.Calls > 0 {
				w.MinimumCalls = min(w.MinimumCalls, w.Calls)
			}
		}
		if w.FailureRate == 0 && w.SlowCallRate == 0 {
			w.FailureRate = DefaultFailureRate
		}
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate lists every fault of a configuration whose defaults are filled in.
func (c Config) validate() error {
	var faults []error
	fault := func(broken bool, format string, args ...any) {
		if broken {
			faults = append(faults, fmt.Errorf("breaker %q: "+format, append([]any{c.Name}, args...)...))
		}
	}
	fault(c.FailureThreshold < 0 || c.FailureThreshold > maxSlots,
		"FailureThreshold is %d: want 1 to %d, or 0 for the default", c.FailureThreshold, maxSlots)
	fault(c.HalfOpenMaxCalls < 0 || c.HalfOpenMaxCalls > maxSlots,
		"HalfOpenMaxCalls is %d: want 1 to %d, or 0 for the default", c.HalfOpenMaxCalls, maxSlots)
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"RecoveryTime", c.RecoveryTime},
		{"Lease", c.Lease},
		{"BaseBackoff", c.BaseBackoff},
		{"MaxBackoff", c.MaxBackoff},
	} {
		fault(d.value < 0, "%s is %v: want more than 0, or 0 for the default", d.field, d.value)
	}
	fault(c.RecoveryTime > 0 && c.MaxRecoveryTime < c.RecoveryTime,
		"MaxRecoveryTime is %v: want at least RecoveryTime, %v", c.MaxRecoveryTime, c.RecoveryTime)
	fault(c.MaxBackoff > 0 && c.MaxBackoff < c.BaseBackoff,
		"MaxBackoff is %v: want at least BaseBackoff, %v", c.MaxBackoff, c.BaseBackoff)
	fault(c.Detail < Transitions || c.Detail > EveryCall,
		"Detail is %d: want Transitions or EveryCall", c.Detail)
	if w := c.Window; w.enabled() {
		fault(w.Calls == 0 && w.Width == 0, "Window has neither Calls nor Width: set one")
		fault(w.Calls != 0 && w.Width != 0, "Window has Calls and Width: set one")
		fault(w.Calls < 0 || w.Calls > maxWindowCalls, "Window.Calls is %d: want 1 to %d", w.Calls, maxWindowCalls)
		fault(w.Width < 0, "Window.Width is %v: want more than 0", w.Width)
		fault(w.Width == 0 && w.Buckets != 0, "Window.Buckets is for a time window: set Width")
		fault(w.Width != 0 && (w.Buckets < 0 || w.Buckets > maxBuckets),
			"Window.Buckets is %d: want 1 to %d, or 0 for the default", w.Buckets, maxBuckets)
		fault(w.Width > 0 && w.Buckets > 0 && w.Width/time.Duration(w.Buckets) == 0,
			"Window.Width is %v: too short for %d buckets", w.Width, w.Buckets)
		fault(w.MinimumCalls < 0, "Window.MinimumCalls is %d: want 1 or more, or 0 for the default", w.MinimumCalls)
		fault(w.Calls > 0 && w.MinimumCalls > w.Calls,
			"Window.MinimumCalls is %d: more than the window's %d calls, so it could never open", w.MinimumCalls, w.Calls)
		fault(!isPercent(w.FailureRate), "Window.FailureRate is %v: want percent, 0.0001 to 100, or 0 for off", w.FailureRate)
		fault(!isPercent(w.SlowCallRate), "Window.SlowCallRate is %v: want percent, 0.0001 to 100, or 0 for off", w.SlowCallRate)
		fault(w.SlowCall < 0, "Window.SlowCall is %v: want more than 0", w.SlowCall)
		fault(w.SlowCallRate != 0 && w.SlowCall == 0, "Window.SlowCallRate needs SlowCall")
		fault(w.SlowCallRate == 0 && w.SlowCall != 0, "Window.SlowCall needs SlowCallRate")
	}
	return errors.Join(faults...)
}

func isPercent(rate float64) bool {
	return rate == 0 || rate >= 0.0001 && rate <= 100
}

// settings is a Config made ready: immutable, and shared by all breakers of
// a Registry.
type settings struct {
	Config
	epoch time.Time // carries the monotonic reading that now counts from
	// timed calls read the clock when they start, for their latency.
	timed bool
	// everyCall is reported.
	everyCall bool
	// plain: a success changes nothing unless there are failures to forget.
	plain bool
}

func newSettings(c Config) (*settings, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	everyCall := c.Logger != nil && c.Detail == EveryCall
	return &settings{
		Config:    c,
		epoch:     time.Now(),
		timed:     c.Logger != nil || c.Window.SlowCallRate != 0,
		everyCall: everyCall,
		plain:     !everyCall && !c.Window.enabled(),
	}, nil
}

func (s *settings) now() time.Duration {
	if s.Now != nil {
		return s.Now()
	}
	return time.Since(s.epoch)
}

// recovery is the open time after so many failed recoveries.
func (s *settings) recovery(level int) time.Duration {
	return grown(s.RecoveryTime, s.MaxRecoveryTime, level)
}
