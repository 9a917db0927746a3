// Command outboxgen writes a transactional outbox in typed Go from a YAML
// event spec, and looks after the database that it runs on.
//
//	outboxgen init          start: a spec and its generated package
//	outboxgen generate      write the Go code of a spec
//	outboxgen import        write a spec from JSON Schemas or AsyncAPI
//	outboxgen breaking      report changes of a spec that break something
//	outboxgen schema        print the SQL of the tables
//	outboxgen dlq           see, replay and discard dead letters
//	outboxgen destination   see, pause, disable and move destinations
//	outboxgen version       print the version
//
// It exits with 0 when all is well; with 1 when a command found something
// wrong or failed: a fault in the spec, a file that is out of date, a database
// it cannot open; and with 2 when it was called wrongly.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	statusOK     = 0
	statusFailed = 1
	statusUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status := make(chan int, 1)
	go func() { status <- run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr) }()
	select {
	case s := <-status:
		os.Exit(s)
	case <-ctx.Done():
	}
	select {
	case s := <-status:
		os.Exit(s)
	case <-time.After(stopPatience):
		fmt.Fprintln(os.Stderr, "outboxgen: stopped by a signal")
		os.Exit(statusFailed)
	}
}

// stopPatience is how long a command that was told to stop may take. One that
// waits for a file (a pipe, a dead network share) hears of no context.
const stopPatience = time.Second

// run is the whole program; it returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return statusOK
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintln(stderr, "outboxgen:", visibleLines(err.Error()))
	}
	if usage := (*usageError)(nil); errors.As(err, &usage) {
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", usage.command)
		return statusUsage
	}
	return statusFailed
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "outboxgen",
		Short: "Typed transactional outbox for Go, from one event spec",
		Long: `outboxgen reads a YAML event spec and writes typed Go for it: an insert per
event that only compiles with a transaction, dispatch wiring that does not
compile when a handler is missing, and an idempotent receiver.

Exit status: 0 when all is well, 1 when a command found something wrong or
failed, 2 when it was called wrongly.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		RunE:              helpOrUnknown,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{cmd.CommandPath(), err}
	})
	root.AddCommand(
		newInit(),
		newGenerate(),
		newBreaking(),
		newImport(),
		newSchema(),
		newDLQ(),
		newDestination(),
		newVersion(),
	)
	return root
}

// errReported says that the command failed and has told why.
var errReported = errors.New("reported")

// usageError is a call that the command line cannot make sense of.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// positional makes a usage error, which shows what the command takes, of what
// a check of the arguments finds.
func positional(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case check(cmd, args) == nil:
			return nil
		case len(args) == 0:
			return &usageError{cmd.CommandPath(), fmt.Errorf("an argument is missing: it is called as %s", cmd.UseLine())}
		default:
			return &usageError{cmd.CommandPath(), fmt.Errorf("these are not its arguments: %q; it is called as %s", args, cmd.UseLine())}
		}
	}
}

// helpOrUnknown runs a command that only groups others.
func helpOrUnknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	cmd.SuggestionsMinimumDistance = 2
	message := fmt.Sprintf("unknown command %q", args[0])
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		message += fmt.Sprintf(" (did you mean %s?)", strings.Join(like, " or "))
	}
	return &usageError{cmd.CommandPath(), errors.New(message)}
}
