package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

const childEnv = "OUTBOXGEN_SQLITE_TEST_PART"

// children are the parts of tests that run in a process of their own, by name;
// each gets the arguments.
var children = map[string]func(ctx context.Context, args []string) error{
	"open":   childOpen,
	"insert": childInsert,
}

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

// child prepares a part to be run in a process of its own.
func child(t *testing.T, part string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+part)
	return cmd
}

// output runs cmd and returns what it printed.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return out.String()
}
