// Command bench measures outboxgen beside the floor and its peers, in one run,
// interleaved, and prints ratios: see docs/performance.md.
//
//	go run . [-only enqueue,drain,…] [-rounds N] [-outboxgen PATH]
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// part is one selectable measurement.
type part struct {
	name string
	run  func(ctx context.Context, r *report) error
}

var parts = []part{
	{"enqueue", measureEnqueue},
	{"drain", measureDrain},
	{"webhook", measureWebhook},
	{"latency", measureLatency},
	{"idle", measureIdle},
	{"backlog", measureBacklog},
	{"isolation", measureIsolation},
	{"hotkey", measureHotKey},
	{"memory", measureMemory},
	{"canonical", measureCanonical},
	{"generate", measureGenerate},
}

var (
	only      = flag.String("only", "", "run only these parts, comma-separated (default: all)")
	rounds    = flag.Int("rounds", 3, "rounds of each measurement; the median counts")
	generator = flag.String("outboxgen", "", "the built outboxgen binary (default: built for the run)")
)

func main() {
	// The generated dispatcher wants its webhook's address, in every part;
	// the webhook part sets its own.
	os.Setenv("BENCH_URL", "http://127.0.0.1:9/")
	os.Setenv("BENCH_SECRET", "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], childPrefix) {
		if err := runChild(os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var wanted []string
	if *only != "" {
		wanted = strings.Split(*only, ",")
	}
	for _, w := range wanted {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == w }) {
			return fmt.Errorf("-only %s: no such part; there are %s", w, strings.Join(names(), ", "))
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Minute, errors.New("ten minutes are over"))
	defer cancel()
	r := &report{}
	for _, p := range parts {
		if wanted != nil && !slices.Contains(wanted, p.name) {
			continue
		}
		started := time.Now()
		if err := p.run(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", p.name, errors.Join(err, context.Cause(ctx)))
		}
		fmt.Fprintf(os.Stderr, "%s: %.0f s\n", p.name, time.Since(started).Seconds())
	}
	r.print(os.Stdout)
	return nil
}

func names() []string {
	var all []string
	for _, p := range parts {
		all = append(all, p.name)
	}
	return all
}
