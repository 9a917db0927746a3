package outbox

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// What a zero Config means.
const (
	DefaultRetention       = 7 * 24 * time.Hour
	DefaultPollInterval    = time.Second
	DefaultBatch           = 100
	DefaultShutdownTimeout = 30 * time.Second
	DefaultCrashLimit      = 5
	// DefaultLeaseMargin is added to a destination's timeout where Config.Lease
	// is 0.
	DefaultLeaseMargin = 15 * time.Second
)

// What a zero Destination or HandlerConfig means.
const (
	DefaultTimeout     = 10 * time.Second
	DefaultMaxInFlight = 16
)

// Config is what all destinations of a Dispatcher share. The zero Config works.
type Config struct {
	// Logger gets every event of note; nil discards them. Deliveries are
	// logged at debug level, failed attempts and pauses at warn, dead letters
	// at error. Each step of a breaker goes to its own breaker.Config.Logger.
	Logger *slog.Logger
	// Retention is how long an event stays after all its deliveries are
	// published or discarded; also the window in which its idempotency key
	// makes a second insert a duplicate. 0: DefaultRetention. Negative: events
	// are never purged.
	Retention time.Duration
	// PollInterval is the slow poll beneath the store's signals. 0: DefaultPollInterval.
	PollInterval time.Duration
	// Batch is how many deliveries of one destination are claimed in one
	// transaction at most. 0: DefaultBatch.
	Batch int
	// ShutdownTimeout is how long Run lets attempts that are under way finish
	// when its context ends, before it cancels theirs. 0: DefaultShutdownTimeout.
	ShutdownTimeout time.Duration
	// CrashLimit is how often in a row a delivery's process may end while it
	// holds the delivery's lease alone, before the delivery is quarantined.
	// 0: DefaultCrashLimit.
	CrashLimit int
	// Lease is how long a delivery is leased: how long others wait for it
	// after this process was killed. It must exceed every destination's
	// timeout; it is renewed while an attempt runs. 0: each destination's
	// timeout and DefaultLeaseMargin.
	Lease time.Duration
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	orDefault(&c.Retention, DefaultRetention)
	orDefault(&c.PollInterval, DefaultPollInterval)
	orDefault(&c.Batch, DefaultBatch)
	orDefault(&c.ShutdownTimeout, DefaultShutdownTimeout)
	orDefault(&c.CrashLimit, DefaultCrashLimit)
	return c
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate names every fault of the configuration at once.
func (c Config) validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.PollInterval < 0 {
		fault("poll interval is %v: use a positive duration, or 0 for %v", c.PollInterval, DefaultPollInterval)
	}
	if c.Batch < 0 {
		fault("batch is %d: use at least 1, or 0 for %d", c.Batch, DefaultBatch)
	}
	if c.ShutdownTimeout < 0 {
		fault("shutdown timeout is %v: use a positive duration, or 0 for %v", c.ShutdownTimeout, DefaultShutdownTimeout)
	}
	if c.CrashLimit < 0 {
		fault("crash limit is %d: use at least 1, or 0 for %d", c.CrashLimit, DefaultCrashLimit)
	}
	if c.Lease < 0 {
		fault("lease is %v: use a duration above every destination's timeout, or 0 for timeout + %v", c.Lease, DefaultLeaseMargin)
	}
	return errors.Join(faults...)
}
