package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Defaults of Options.
const (
	DefaultReaders     = 4
	DefaultBusyTimeout = 5 * time.Second
)

// Options of Open. The zero value is right for most programs.
type Options struct {
	// Now is the store's clock. nil: time.Now.
	Now func() time.Time
	// Logger hears of what no caller is told: a WAL that cannot be reset, a
	// background checkpoint that failed. nil: nothing is logged.
	Logger *slog.Logger
	// Readers bounds the pool of read-only connections. 0: DefaultReaders.
	Readers int
	// BusyTimeout is how long to wait for another process's transaction.
	// 0: DefaultBusyTimeout.
	BusyTimeout time.Duration
	// Migrations says whether Open brings the schema up to date.
	Migrations Migrations
	// NoFileWatch keeps Watch from watching the folder for other processes'
	// commits; the dispatcher's slow poll then finds them. For tests in a
	// testing/synctest bubble, where nothing may wait on the file system.
	NoFileWatch bool

	wal walSizes // for this package's tests
}

// Migrations says what Open does about the schema.
type Migrations int

const (
	// Auto applies what is missing, in one transaction.
	Auto Migrations = iota
	// Check changes nothing and fails when something is missing: for those who
	// apply schema.DDL() with a tool of their own.
	Check
)

// withDefaults fills the zero fields and lists every fault.
func (o Options) withDefaults() (Options, error) {
	var faults []error
	if o.Readers < 0 {
		faults = append(faults, fmt.Errorf("Readers is %d: it must not be negative", o.Readers))
	}
	if o.BusyTimeout < 0 {
		faults = append(faults, fmt.Errorf("BusyTimeout is %v: it must not be negative", o.BusyTimeout))
	}
	if o.Migrations != Auto && o.Migrations != Check {
		faults = append(faults, fmt.Errorf("Migrations is %d: it must be Auto or Check", o.Migrations))
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Readers == 0 {
		o.Readers = DefaultReaders
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = DefaultBusyTimeout
	}
	return o, errors.Join(faults...)
}
