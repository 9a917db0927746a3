// Command mutants shows that the tests of the promises can fail: it applies
// each patch of this folder to a copy of the repository, one at a time, and runs
// the test that the patch names, which must turn red. docs/guarantees.md says
// which promise each of them breaks.
//
//	go run ./tools/mutants [-v] [NAME...]
//
// A NAME selects the patches that have it in their names; none selects all. -v
// shows what each red test says. The exit status is 1 when a mutant survives,
// does not apply or does not compile, or when its test is not green without it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	verbose := flag.Bool("v", false, "show what each red test says")
	flag.Parse()
	if err := run(ctx, flag.Args(), *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string, verbose bool) error {
	top, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return fmt.Errorf("find the repository: %w: %s", err, top)
	}
	top = strings.TrimSpace(top)
	mutants, err := load(filepath.Join(top, "tools", "mutants"), names)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "outboxgen-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := copyRepository(ctx, top, work); err != nil {
		return fmt.Errorf("copy the repository: %w", err)
	}
	begun := time.Now()
	without := testsOf(ctx, work, mutants)
	alive := 0
	for _, m := range mutants {
		started := time.Now()
		said, err := "", without[m.test]
		if err == nil {
			said, err = m.mustDie(ctx, work)
		}
		if errors.Is(err, errBeyondRepair) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		verdict := "killed"
		if err != nil {
			alive++
			verdict = "NOT KILLED: " + err.Error()
		}
		fmt.Printf("%-44s %5.1f s  %s\n", m.name, time.Since(started).Seconds(), verdict)
		if verbose {
			fmt.Println(said)
		}
	}
	fmt.Printf("%d of %d mutants killed in %.0f s\n", len(mutants)-alive, len(mutants), time.Since(begun).Seconds())
	if alive > 0 {
		return fmt.Errorf("%d of %d mutants are alive or could not be tried", alive, len(mutants))
	}
	return nil
}
