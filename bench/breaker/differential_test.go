package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/sony/gobreaker/v2"
)

var errIgnored = errors.New("ignored")

var states = map[gobreaker.State]breaker.State{
	gobreaker.StateClosed:   breaker.Closed,
	gobreaker.StateOpen:     breaker.Open,
	gobreaker.StateHalfOpen: breaker.HalfOpen,
}

// The breaker against gobreaker, in 100,000 random sequences of calls that
// overlap, reports in any order, and time. Where the two differ by design the
// sequences do not go: beyond the trip edge, which gobreaker does not have,
// and exactly to the end of the recovery time, which gobreaker excludes.
func TestDifferential_Gobreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(22, 5))
		visited := map[breaker.State]int{}
		for round := range 100_000 {
			threshold, probes := 1+random.IntN(5), 1+random.IntN(3)
			const recovery = 5*time.Millisecond + 1 // time goes on by whole milliseconds
			ours, err := breaker.New(breaker.Config{
				FailureThreshold: threshold, HalfOpenMaxCalls: probes,
				RecoveryTime: recovery, MaxRecoveryTime: recovery, Lease: math.MaxInt64,
			})
			if err != nil {
				t.Fatal(err)
			}
			theirs := gobreaker.NewTwoStepCircuitBreaker[int](gobreaker.Settings{
				MaxRequests: uint32(probes), Timeout: recovery,
				ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= uint32(threshold) },
				IsExcluded:  func(err error) bool { return err == errIgnored },
			})
			if err := sequence(random, ours, theirs, visited); err != nil {
				t.Fatalf("round %d (threshold %d, %d probes): %v", round, threshold, probes, err)
			}
		}
		for _, s := range states {
			if visited[s] < 100_000 {
				t.Errorf("the sequences were in %v only %d times", s, visited[s])
			}
		}
	})
}

// pair is one call, admitted by both.
type pair struct {
	permit breaker.Permit
	done   func(error)
}

func sequence(random *rand.Rand, ours *breaker.Breaker, theirs *gobreaker.TwoStepCircuitBreaker[int], visited map[breaker.State]int) error {
	var calls []pair
	for step := range 30 {
		switch op := random.IntN(10); {
		case op < 5:
			if ours.State() == breaker.Closed && ours.Room() == 0 {
				continue // the trip edge
			}
			permit, err := ours.TryAcquire()
			done, theirErr := theirs.Allow()
			if (err == nil) != (theirErr == nil) {
				return fmt.Errorf("step %d: %v, gobreaker %v", step, err, theirErr)
			}
			if err == nil {
				calls = append(calls, pair{permit, done})
			}
		case op < 9 && len(calls) > 0:
			i := random.IntN(len(calls))
			switch random.IntN(5) {
			case 0, 1:
				calls[i].permit.Done(breaker.Success)
				calls[i].done(nil)
			case 2, 3:
				calls[i].permit.Done(breaker.Failure)
				calls[i].done(errDown)
			default:
				calls[i].permit.Done(breaker.Neutral)
				calls[i].done(errIgnored)
			}
			calls = append(calls[:i], calls[i+1:]...)
		default:
			time.Sleep(time.Duration(random.IntN(7)) * time.Millisecond)
		}
		if ours.State() != states[theirs.State()] {
			return fmt.Errorf("step %d: %v, gobreaker %v", step, ours.State(), theirs.State())
		}
		visited[ours.State()]++
	}
	return nil
}
