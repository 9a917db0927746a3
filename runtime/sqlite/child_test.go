package sqlite

import (
	"context"
	"fmt"
	"os"
)

const childEnv = "OUTBOXGEN_SQLITE_TEST_PART"

// children are the parts, by name; each gets the command line's arguments.
var children = map[string]func(ctx context.Context, args []string) error{}

func runChild(part string) int {
	run := children[part]
	if run == nil {
		fmt.Fprintf(os.Stderr, "no part %q\n", part)
		return 2
	}
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
