package emit_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestMistakesDoNotCompile runs the compiler on programs that use the
// generated package of testdata/design in a wrong way.
func TestMistakesDoNotCompile(t *testing.T) {
	for folder, want := range map[string]string{
		// A *sql.DB is no transaction: an insert with it would be outside of one.
		"insert_with_db": "cannot use db (variable of type *sql.DB) as *sql.Tx value",
		// Handlers are positional: none can be forgotten.
		"handler_forgotten": "not enough arguments in call to events.NewDispatcher",
		// A handler has a method for every event that goes to it.
		"method_forgotten":   "missing method OrderCreated",
		"receiver_forgotten": "type billing of billing{} does not match",
	} {
		t.Run(folder, func(t *testing.T) {
			out, err := exec.Command("go", "build", "-o", "/dev/null", "./testdata/mistakes/"+folder).CombinedOutput()
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("%v\n%s\nwant %s", err, out, want)
			}
			if n := strings.Count(string(out), ".go:"); n != 1 {
				t.Errorf("%d errors, want this one alone:\n%s", n, out)
			}
		})
	}
	if out, err := exec.Command("go", "build", "-o", "/dev/null", "./testdata/mistakes/none").CombinedOutput(); err != nil {
		t.Errorf("the program without a mistake: %v\n%s", err, out)
	}
}
