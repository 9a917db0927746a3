package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
	"github.com/spf13/cobra"
)

func newDestination() *cobra.Command {
	var db databaseFlag
	cmd := &cobra.Command{
		Use:   "destination",
		Short: "See, pause, disable and move destinations",
		Long: `destination works on the destinations that a database file knows, also while
dispatchers run on it. What is changed here outlasts restarts.`,
		Example: `  outboxgen destination list --db shop.db
  outboxgen destination pause --db shop.db billing --for 10m
  outboxgen destination move --db shop.db invoices billing`,
		Args: cobra.ArbitraryArgs,
		RunE: helpOrUnknown,
	}
	db.register(cmd)
	cmd.AddCommand(
		newDestinationList(&db),
		newDestinationPause(&db),
		newDestinationResume(&db),
		newDestinationDisable(&db),
		newDestinationEnable(&db),
		newDestinationMove(&db),
	)
	return cmd
}

func newDestinationList(db *databaseFlag) *cobra.Command {
	var format listFormat
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List destinations, their state and what waits for them",
		Long: `list shows the destinations that have open deliveries, dead letters, a pause or a
disablement, or had one of the two: what is idle and active is not in it. PENDING
also counts what waits for an earlier delivery, or for a dead letter, of its
ordering key; WAITING, since when the oldest is due, does not.`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return db.with(cmd, func(ctx context.Context, store *sqlite.Store) error {
				states, err := store.Destinations(ctx)
				if err != nil {
					return err
				}
				out := cmd.OutOrStdout()
				if format == listJSON {
					for _, s := range states {
						if err := jsonLine(out, destinationLine{
							s.Destination, destinationState(s), destinationReason(s), s.PausedFor.Seconds(),
							s.Pending, s.Processing, s.DeadLetters, s.OldestDue.Seconds(),
						}); err != nil {
							return err
						}
					}
					return nil
				}
				rows := make([][]string, len(states))
				for i, s := range states {
					oldest := ""
					if s.OldestDue > 0 {
						oldest = s.OldestDue.Round(time.Second).String()
					}
					state := destinationState(s)
					if state == "paused" {
						state += " for " + s.PausedFor.Round(time.Second).String()
					}
					rows[i] = []string{
						s.Destination, state, strconv.FormatInt(s.Pending, 10), strconv.FormatInt(s.Processing, 10),
						strconv.FormatInt(s.DeadLetters, 10), oldest, destinationReason(s),
					}
				}
				return table(out, []string{"DESTINATION", "STATE", "PENDING", "PROCESSING", "DEAD", "WAITING", "REASON"}, rows)
			})
		},
	}
	format.register(cmd)
	return cmd
}

// destinationLine is a destination in JSON; durations are in seconds.
type destinationLine struct {
	Destination   string  `json:"destination"`
	State         string  `json:"state"` // active, paused or disabled
	Reason        string  `json:"reason,omitempty"`
	PausedSeconds float64 `json:"paused_seconds"`
	Pending       int64   `json:"pending"`
	Processing    int64   `json:"processing"`
	DeadLetters   int64   `json:"dead_letters"`
	OldestSeconds float64 `json:"oldest_waiting_seconds"`
}

func destinationState(s outbox.DestinationState) string {
	switch {
	case s.DisabledReason != "":
		return "disabled"
	case s.PausedFor > 0:
		return "paused"
	default:
		return "active"
	}
}

func destinationReason(s outbox.DestinationState) string {
	if s.DisabledReason != "" {
		return s.DisabledReason
	}
	return s.Reason
}

// byHand is the reason where whoever changes a destination gives none.
const byHand = "by hand"

func newDestinationPause(db *databaseFlag) *cobra.Command {
	change := outbox.DestinationChange{Action: outbox.Pause}
	cmd := newDestinationChange(db, "pause", "Hold a destination's deliveries back for a time; no attempt is spent", &change)
	cmd.Flags().DurationVar(&change.For, "for", 0, "how long, from now (required)")
	cmd.Flags().StringVar(&change.Reason, "reason", byHand, "why; destination list shows it")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if change.For <= 0 {
			return &usageError{cmd.CommandPath(), fmt.Errorf("--for is missing: say how long, as in --for 10m; to stop deliveries until further notice use destination disable")}
		}
		return nil
	}
	return cmd
}

func newDestinationResume(db *databaseFlag) *cobra.Command {
	return newDestinationChange(db, "resume", "End a destination's pause", &outbox.DestinationChange{Action: outbox.Resume})
}

func newDestinationDisable(db *databaseFlag) *cobra.Command {
	change := outbox.DestinationChange{Action: outbox.Disable}
	cmd := newDestinationChange(db, "disable", "Hold a destination's deliveries back until it is enabled", &change)
	cmd.Flags().StringVar(&change.Reason, "reason", byHand, "why; destination list shows it")
	return cmd
}

func newDestinationEnable(db *databaseFlag) *cobra.Command {
	return newDestinationChange(db, "enable", "Let a disabled destination's deliveries go on", &outbox.DestinationChange{Action: outbox.Enable})
}

func newDestinationChange(db *databaseFlag, name, short string, change *outbox.DestinationChange) *cobra.Command {
	return &cobra.Command{
		Use:   name + " DESTINATION",
		Short: short,
		Args:  positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return db.with(cmd, func(ctx context.Context, store *sqlite.Store) error {
				if err := noteUnknown(ctx, cmd, store, args[0]); err != nil {
					return err
				}
				change.Destination = args[0]
				return store.SetDestination(ctx, *change)
			})
		},
	}
}

// noteUnknown tells of a name that no open delivery, dead letter or earlier
// change has. It may be a slip; it may also be a destination that is idle.
func noteUnknown(ctx context.Context, cmd *cobra.Command, store outbox.Store, name string) error {
	known, err := inDatabase(ctx, store, name)
	if err != nil || known {
		return err
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "note: nothing waits for a destination %q: see outboxgen destination list\n", name)
	return err
}

// noteNewName does so for where deliveries are moved, which may also be a name
// that a dispatcher is about to have; s is nil where no spec is given.
func noteNewName(ctx context.Context, cmd *cobra.Command, store outbox.Store, name string, s *spec.Spec) error {
	if s != nil && slices.ContainsFunc(s.Destinations, func(d *spec.Destination) bool { return d.Name == name }) {
		return nil
	}
	known, err := inDatabase(ctx, store, name)
	if err != nil || known {
		return err
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(),
		"note: neither a delivery nor --spec names a destination %q: what is moved to it waits until a dispatcher has it\n", name)
	return err
}

func inDatabase(ctx context.Context, store outbox.Store, name string) (bool, error) {
	states, err := store.Destinations(ctx)
	return slices.ContainsFunc(states, func(s outbox.DestinationState) bool { return s.Destination == name }), err
}

func newDestinationMove(db *databaseFlag) *cobra.Command {
	var dryRun bool
	var specPath string
	cmd := &cobra.Command{
		Use:   "move FROM TO",
		Short: "Give a renamed destination's deliveries and dead letters to its new name",
		Long: `move gives all open deliveries and dead letters of FROM to TO. Deliveries whose
attempt is under way, and events that TO has already, stay and are counted: move
again when they are settled.

Whether a dead letter holds back what comes after it stays as it was at FROM,
unless --spec names the spec that says it of TO (on_dead_letter).

A generated receiver remembers what it applied under the name of its
destination: set its inbox.Config{Consumer: "FROM"}, or what comes again after
the move is applied again.`,
		Args: positional(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return db.with(cmd, func(ctx context.Context, store *sqlite.Store) error {
				if err := noteUnknown(ctx, cmd, store, args[0]); err != nil {
					return err
				}
				move := outbox.Move{From: args[0], To: args[1]}
				var of *spec.Spec
				if specPath != "" {
					s, err := loadSpec(cmd, formatText, specFile(specPath))
					if err != nil {
						return err
					}
					of, move.Hold = s, holds(s, move.To)
				}
				if err := noteNewName(ctx, cmd, store, move.To, of); err != nil {
					return err
				}
				done := "moved"
				if dryRun {
					move.Mode, done = outbox.DryRun, "would be moved"
				}
				result, err := store.Move(ctx, move)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d %s, %d under way, %d at %s already\n",
					result.Moved, done, result.Leased, result.Existing, visible(args[1]))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "change nothing; count what would be moved")
	cmd.Flags().StringVar(&specPath, "spec", "", "the spec that has TO")
	return cmd
}

// holds says of each event type that goes to a destination whether its dead
// letters hold back what comes after them.
func holds(s *spec.Spec, destination string) map[string]bool {
	holds := make(map[string]bool)
	for _, e := range s.Events {
		for _, route := range e.To {
			if e.Current && route.Destination.Name == destination {
				holds[e.Name] = route.Hold
			}
		}
	}
	return holds
}
