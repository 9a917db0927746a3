// Command breaker measures the circuit breaker beside gobreaker and
// failsafe-go in one run, and prints ratios.
//
//	go run ./breaker [-rounds N]
//
// Contestants take turns, for some ten milliseconds each, and each one's best
// turn counts: so a busy machine slows all of them or none.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"sync"
	"text/tabwriter"
	"time"
)

var rounds = flag.Int("rounds", 50, "turns of each contestant")

func main() {
	flag.Parse()
	if err := run(os.Stdout, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "breaker:", err)
		os.Exit(1)
	}
}

// result is one contestant's best turn.
type result struct {
	nanoseconds float64 // a call
	allocations float64 // a call
}

func run(w io.Writer, rounds int) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s, %d processors, best of %d turns\n\n", runtime.Version(), runtime.GOMAXPROCS(0), rounds)
	fmt.Fprintln(table, "path\tcontestant\tns/call\tallocs/call\toutboxgen is faster by\t")
	for _, p := range paths {
		results, err := measure(p, rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for i, c := range p.contestants {
			ratio := ""
			if i > 0 {
				ratio = fmt.Sprintf("%.1f", results[i].nanoseconds/results[0].nanoseconds)
			}
			fmt.Fprintf(table, "%s\t%s\t%.1f\t%.2f\t%s\t\n", p.name, c.name, results[i].nanoseconds, results[i].allocations, ratio)
		}
		fmt.Fprintln(table, "\t\t\t\t\t")
	}
	return table.Flush()
}

// measure lets a path's contestants take turns.
func measure(p path, rounds int) ([]result, error) {
	calls := make([]func(), len(p.contestants))
	results := make([]result, len(p.contestants))
	for i, c := range p.contestants {
		call, err := c.make()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		calls[i] = call
		results[i] = result{math.Inf(1), math.Inf(1)}
	}
	for range rounds {
		for i, call := range calls {
			r := turn(call, p.goroutines())
			results[i].nanoseconds = min(results[i].nanoseconds, r.nanoseconds)
			results[i].allocations = min(results[i].allocations, r.allocations)
		}
	}
	return results, nil
}

const callsInATurn = 100_000

// turn makes the calls of one turn, spread over goroutines; with n of them, a
// call's time is the wall time over all calls.
func turn(call func(), goroutines int) result {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	if goroutines == 1 {
		for range callsInATurn {
			call()
		}
	} else {
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for range callsInATurn / goroutines {
					call()
				}
			})
		}
		wg.Wait()
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return result{
		nanoseconds: float64(took.Nanoseconds()) / callsInATurn,
		allocations: float64(after.Mallocs-before.Mallocs) / callsInATurn,
	}
}
