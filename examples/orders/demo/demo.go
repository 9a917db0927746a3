// Package demo runs the whole path of an event on real parts, over loopback
// HTTP and real database files, in four cycles. Each is checked: what is not
// as it should be ends the demonstration with an error.
package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// Run runs the four cycles with its databases in dir. It writes what it sees
// to out and its parts' logs to log.
func Run(ctx context.Context, dir string, out io.Writer, log *slog.Logger) error {
	w, err := start(ctx, dir, out, log)
	if err != nil {
		return err
	}
	defer w.stop()
	cycles := []struct {
		name string
		run  func(context.Context) error
	}{
		{"An order and its event are written together or not at all", w.atomic},
		{"The dispatcher delivers: PENDING becomes PUBLISHED", w.deliver},
		{"Billing is down: three attempts, a dead letter, a replay", w.deadLetter},
		{"The same delivery twice has one effect", w.duplicate},
	}
	for i, cycle := range cycles {
		fmt.Fprintf(out, "\n%d. %s\n", i+1, cycle.name)
		if err := cycle.run(ctx); err != nil {
			return fmt.Errorf("cycle %d: %w", i+1, err)
		}
	}
	fmt.Fprintln(out, "\nall four cycles went as promised")
	return nil
}

// check tells of a fact that must hold, or returns what was wrong.
func (w *world) check(holds bool, format string, args ...any) error {
	fact := fmt.Sprintf(format, args...)
	if !holds {
		return fmt.Errorf("not so: %s", fact)
	}
	_, err := fmt.Fprintf(w.out, "   ok  %s\n", fact)
	return err
}
