package breaker_test

import (
	"errors"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

func TestNew_ZeroConfigWorks(t *testing.T) {
	clock := new(fakeClock)
	b := newBreaker(t, breaker.Config{Now: clock.Now, Random: highest})
	report(t, b, breaker.Failure, 2)
	wantState(t, b, breaker.Closed)
	report(t, b, breaker.Failure, 1)
	e := refusal(t, b, breaker.ReasonOpen)
	if e.Remaining() != 10*time.Second || e.Backoff() != 500*time.Millisecond {
		t.Fatalf("remaining %v, backoff %v", e.Remaining(), e.Backoff())
	}
	clock.Advance(10 * time.Second)
	if b.Room() != 2 {
		t.Fatalf("%d probes", b.Room())
	}
	report(t, b, breaker.Success, 2)
	wantState(t, b, breaker.Closed)
}

func TestNew_DefaultsFollowWhatIsSet(t *testing.T) {
	for _, c := range []breaker.Config{
		{MaxBackoff: time.Millisecond}, // below the default base
		{BaseBackoff: time.Hour},       // above the default cap
		{RecoveryTime: math.MaxInt64},
		{RecoveryTime: math.MaxInt64 / 3},
		{RecoveryTime: 1},
		{Window: breaker.Window{Calls: 1}}, // below the default minimum
		{Window: breaker.Window{Width: 10}},
		{Window: breaker.Window{Width: time.Second, SlowCallRate: 1, SlowCall: 1}},
	} {
		if _, err := breaker.New(c); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestNew_ListsEveryFault(t *testing.T) {
	for _, c := range []struct {
		config breaker.Config
		want   []string
	}{
		{breaker.Config{
			Name: "billing", FailureThreshold: -1, HalfOpenMaxCalls: -2, RecoveryTime: -3, Lease: -4,
			BaseBackoff: -5, MaxBackoff: -6, Detail: 7,
		}, []string{
			`breaker "billing": FailureThreshold is -1: want 1 to 65536, or 0 for the default`,
			`breaker "billing": HalfOpenMaxCalls is -2: want 1 to 65536, or 0 for the default`,
			`breaker "billing": RecoveryTime is -3ns: want more than 0, or 0 for the default`,
			`breaker "billing": Lease is -4ns: want more than 0, or 0 for the default`,
			`breaker "billing": BaseBackoff is -5ns: want more than 0, or 0 for the default`,
			`breaker "billing": MaxBackoff is -6ns: want more than 0, or 0 for the default`,
			`breaker "billing": Detail is 7: want Transitions or EveryCall`,
		}},
		{breaker.Config{
			RecoveryTime: time.Minute, MaxRecoveryTime: time.Second, BaseBackoff: time.Minute, MaxBackoff: time.Second,
			FailureThreshold: 1 << 20, HalfOpenMaxCalls: 1 << 20,
		}, []string{
			`breaker "": FailureThreshold is 1048576: want 1 to 65536, or 0 for the default`,
			`breaker "": HalfOpenMaxCalls is 1048576: want 1 to 65536, or 0 for the default`,
			`breaker "": MaxRecoveryTime is 1s: want at least RecoveryTime, 1m0s`,
			`breaker "": MaxBackoff is 1s: want at least BaseBackoff, 1m0s`,
		}},
		{breaker.Config{MaxRecoveryTime: -1}, []string{`breaker "": MaxRecoveryTime is -1ns: want at least RecoveryTime, 10s`}},
		{breaker.Config{Window: breaker.Window{FailureRate: 50}}, []string{
			`breaker "": Window has neither Calls nor Width: set one`,
		}},
		{breaker.Config{Window: breaker.Window{Calls: 5, Width: -1, MinimumCalls: 6, FailureRate: 101, SlowCallRate: -1, SlowCall: -1}}, []string{
			`breaker "": Window has Calls and Width: set one`,
			`breaker "": Window.Width is -1ns: want more than 0`,
			`breaker "": Window.MinimumCalls is 6: more than the window's 5 calls, so it could never open`,
			`breaker "": Window.FailureRate is 101: want percent, 0.0001 to 100, or 0 for off`,
			`breaker "": Window.SlowCallRate is -1: want percent, 0.0001 to 100, or 0 for off`,
			`breaker "": Window.SlowCall is -1ns: want more than 0`,
		}},
		{breaker.Config{Window: breaker.Window{Calls: -1, Buckets: 3, MinimumCalls: -1}}, []string{
			`breaker "": Window.Calls is -1: want 1 to 1048576`,
			`breaker "": Window.Buckets is for a time window: set Width`,
			`breaker "": Window.MinimumCalls is -1: want 1 or more, or 0 for the default`,
		}},
		{breaker.Config{Window: breaker.Window{Width: 3, Buckets: 5000}}, []string{
			`breaker "": Window.Buckets is 5000: want 1 to 4096, or 0 for the default`,
			`breaker "": Window.Width is 3ns: too short for 5000 buckets`,
		}},
		{breaker.Config{Window: breaker.Window{Calls: 10, SlowCallRate: 5}}, []string{`breaker "": Window.SlowCallRate needs SlowCall`}},
		{breaker.Config{Window: breaker.Window{Calls: 10, SlowCall: 5}}, []string{`breaker "": Window.SlowCall needs SlowCallRate`}},
		{breaker.Config{Window: breaker.Window{Calls: 10, FailureRate: math.NaN(), SlowCall: 1, SlowCallRate: math.Inf(1)}}, []string{
			`breaker "": Window.FailureRate is NaN: want percent, 0.0001 to 100, or 0 for off`,
			`breaker "": Window.SlowCallRate is +Inf: want percent, 0.0001 to 100, or 0 for off`,
		}},
	} {
		_, err := breaker.New(c.config)
		if err == nil || err.Error() != strings.Join(c.want, "\n") {
			t.Errorf("New(%+v):\n%v\nwant\n%s", c.config, err, strings.Join(c.want, "\n"))
		}
		if _, err := breaker.NewRegistry(c.config, 0); err == nil {
			t.Error("NewRegistry takes it")
		}
	}
	if _, err := breaker.NewRegistry(breaker.Config{Lease: -1}, -1); err == nil ||
		!strings.Contains(err.Error(), "Lease") || !strings.Contains(err.Error(), "limit is -1") {
		t.Errorf("NewRegistry: %v, want both faults", err)
	}
}

func TestOpenError_IsOnlyErrOpen(t *testing.T) {
	if errors.Is(&breaker.OpenError{}, errDown) || !errors.Is(&breaker.OpenError{}, breaker.ErrOpen) {
		t.Fatal("OpenError matches the wrong errors")
	}
	// A zero one, as a test double may make it, does not panic.
	e := &breaker.OpenError{Name: "x"}
	if e.Remaining() != 0 || e.Backoff() != 0 || e.RetryIn() != 0 || e.Error() == "" {
		t.Fatalf("zero OpenError: %v", e)
	}
}

// Or must not forget a field that is added to Config one day.
func TestConfig_OrTakesEveryField(t *testing.T) {
	defaults := breaker.Config{
		Name: "defaults", FailureThreshold: 1, Window: breaker.Window{Calls: 1}, RecoveryTime: 1, MaxRecoveryTime: 1,
		HalfOpenMaxCalls: 1, Lease: 1, BaseBackoff: 1, MaxBackoff: 1, Classify: breaker.DefaultClassify,
		OnTransition: func(breaker.Transition) {}, Logger: slog.New(slog.DiscardHandler), Detail: breaker.EveryCall,
		Now: func() time.Duration { return 1 }, Random: lowest,
	}
	all := reflect.ValueOf(breaker.Config{}.Or(defaults))
	for i := range all.NumField() {
		if all.Field(i).IsZero() {
			t.Errorf("%s is not taken from the defaults", all.Type().Field(i).Name)
		}
	}
	if c := (breaker.Config{Name: "own", FailureThreshold: 7}).Or(defaults); c.Name != "own" || c.FailureThreshold != 7 || c.Lease != 1 {
		t.Errorf("an override is lost: %+v", c)
	}
}

func TestBreaker_ConfigHasDefaultsFilledIn(t *testing.T) {
	c := newBreaker(t, breaker.Config{Name: "billing", RecoveryTime: time.Second}).Config()
	if c.Name != "billing" || c.FailureThreshold != 3 || c.MaxRecoveryTime != 6*time.Second || c.Lease != time.Minute {
		t.Fatalf("config %+v", c)
	}
}
