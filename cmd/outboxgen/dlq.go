package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
	"github.com/spf13/cobra"
)

func newDLQ() *cobra.Command {
	var db databaseFlag
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "See, replay and discard dead letters",
		Long: `dlq works on the dead letters of a database file, also while dispatchers run on
it: a replayed delivery is attempted at once.`,
		Example: `  outboxgen dlq list --db shop.db --destination billing
  outboxgen dlq replay --db shop.db 12 13
  outboxgen dlq replay-all --db shop.db --kind exhausted --dry-run`,
		Args: cobra.ArbitraryArgs,
		RunE: helpOrUnknown,
	}
	db.register(cmd)
	cmd.AddCommand(
		newDLQList(&db),
		newDLQShow(&db),
		newDLQReplay(&db),
		newDLQReplayAll(&db),
		newDLQDiscard(&db),
	)
	return cmd
}

func newDLQList(db *databaseFlag) *cobra.Command {
	var (
		filter filterFlags
		format listFormat
		limit  int
		after  int64
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, oldest first",
		Args:  positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return db.with(cmd, func(ctx context.Context, store *sqlite.Store) error {
				f := filter.filter()
				f.After, f.Limit = after, limit
				letters, err := store.DeadLetters(ctx, f)
				if err != nil {
					return err
				}
				if err := writeDeadLetters(cmd.OutOrStdout(), format, letters); err != nil {
					return err
				}
				if len(letters) == limit {
					fmt.Fprintf(cmd.ErrOrStderr(), "There may be more: --after %d\n", letters[limit-1].ID)
				}
				return nil
			})
		},
	}
	filter.register(cmd)
	format.register(cmd)
	cmd.Flags().IntVar(&limit, "limit", outbox.DefaultPage, "how many to list at most")
	cmd.Flags().Int64Var(&after, "after", 0, "only those with a higher id")
	return cmd
}

func newDLQShow(db *databaseFlag) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a dead letter, its payload and its failed attempts",
		Args:  positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := parseIDs(cmd, args)
			if err != nil {
				return err
			}
			return db.with(cmd, func(ctx context.Context, store *sqlite.Store) error {
				letters, err := store.DeadLetters(ctx, outbox.DeadLetterFilter{IDs: ids, WithPayload: true})
				if err != nil {
					return err
				}
				if len(letters) == 0 {
					return fmt.Errorf("no dead letter has the id %d", ids[0])
				}
				attempts, err := store.Attempts(ctx, letters[0].EventID, letters[0].Destination)
				if err != nil {
					return err
				}
				return showDeadLetter(cmd.OutOrStdout(), letters[0], attempts)
			})
		},
	}
}

func newDLQReplay(db *databaseFlag) *cobra.Command {
	var how changeFlags
	var window replayWindow
	cmd := &cobra.Command{
		Use:   "replay ID...",
		Short: "Make dead letters pending again, with the same key and the same bytes",
		Args:  positional(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := parseIDs(cmd, args)
			if err != nil {
				return err
			}
			return db.with(cmd, func(ctx context.Context, store *sqlite.Store) error {
				f := outbox.DeadLetterFilter{IDs: ids}
				if err := errors.Join(allThere(ctx, store, ids), window.check(ctx, store, f)); err != nil {
					return err
				}
				return how.change(ctx, cmd, f, store.Replay, "replayed")
			})
		},
	}
	how.register(cmd)
	window.register(cmd)
	return cmd
}

func newDLQReplayAll(db *databaseFlag) *cobra.Command {
	var how changeFlags
	var window replayWindow
	var filter filterFlags
	cmd := &cobra.Command{
		Use:   "replay-all",
		Short: "Replay every dead letter that the filters let through",
		Args:  positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return db.with(cmd, func(ctx context.Context, store *sqlite.Store) error {
				if err := window.check(ctx, store, filter.filter()); err != nil {
					return err
				}
				return how.change(ctx, cmd, filter.filter(), store.Replay, "replayed")
			})
		},
	}
	how.register(cmd)
	window.register(cmd)
	filter.register(cmd)
	return cmd
}

func newDLQDiscard(db *databaseFlag) *cobra.Command {
	var how changeFlags
	cmd := &cobra.Command{
		Use:   "discard ID...",
		Short: "Drop dead letters for good; what they hold back goes on",
		Args:  positional(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := parseIDs(cmd, args)
			if err != nil {
				return err
			}
			return db.with(cmd, func(ctx context.Context, store *sqlite.Store) error {
				if err := allThere(ctx, store, ids); err != nil {
					return err
				}
				return how.change(ctx, cmd, outbox.DeadLetterFilter{IDs: ids}, store.Discard, "discarded")
			})
		},
	}
	how.register(cmd)
	return cmd
}

func parseIDs(cmd *cobra.Command, args []string) ([]int64, error) {
	ids := make([]int64, len(args))
	for i, arg := range args {
		id, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			return nil, &usageError{cmd.CommandPath(), fmt.Errorf("%q is not the id of a dead letter: ids are numbers, see outboxgen dlq list", arg)}
		}
		ids[i] = id
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// allThere names the ids that are no dead letter's, before anything changes.
func allThere(ctx context.Context, store outbox.Admin, ids []int64) error {
	letters, err := store.DeadLetters(ctx, outbox.DeadLetterFilter{IDs: ids, Limit: len(ids)})
	if err != nil {
		return err
	}
	found := make(map[int64]bool, len(letters))
	for _, l := range letters {
		found[l.ID] = true
	}
	var missing []error
	for _, id := range ids {
		if !found[id] {
			missing = append(missing, fmt.Errorf("no dead letter has the id %d", id))
		}
	}
	return errors.Join(missing...)
}

// filterFlags select dead letters.
type filterFlags struct {
	destination, eventType, event, kind, reason string
	olderThan                                   time.Duration
}

func (f *filterFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.destination, "destination", "", "only those of this destination")
	flags.StringVar(&f.eventType, "type", "", "only events of this type")
	flags.StringVar(&f.event, "event", "", "only the event with this id")
	flags.StringVar(&f.kind, "kind", "", "only this kind of failure: exhausted, permanent, expired, crash, undecodable, manual")
	flags.StringVar(&f.reason, "reason", "", "only those whose reason contains this text")
	flags.DurationVar(&f.olderThan, "older-than", 0, "only those quarantined at least this long ago")
}

func (f *filterFlags) filter() outbox.DeadLetterFilter {
	return outbox.DeadLetterFilter{
		Destination:   f.destination,
		EventType:     f.eventType,
		EventID:       f.event,
		Kind:          outbox.FailureKind(f.kind),
		ReasonMatches: f.reason,
		OlderThan:     f.olderThan,
	}
}

// changeFlags are those of the commands that change dead letters.
type changeFlags struct {
	dryRun bool
	format listFormat
}

func (f *changeFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "change nothing; list what would be changed")
	f.format.register(cmd)
}

type bulkChange func(context.Context, outbox.DeadLetterFilter, outbox.Mode) ([]outbox.DeadLetterInfo, error)

// change makes the change and lists what it did to the dead letters.
func (f *changeFlags) change(ctx context.Context, cmd *cobra.Command, filter outbox.DeadLetterFilter, change bulkChange, done string) error {
	mode := outbox.Apply
	if f.dryRun {
		mode, done = outbox.DryRun, "would be "+done
	}
	letters, err := change(ctx, filter, mode)
	if len(letters) > 0 {
		if err := writeDeadLetters(cmd.OutOrStdout(), f.format, letters); err != nil {
			return err
		}
	}
	if err == nil && f.format == listText {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d %s\n", len(letters), done)
	}
	return err
}

// replayWindow keeps a replay from being applied twice: a receiver that
// applied an event and whose answer was lost knows it again only for a time.
type replayWindow struct {
	window time.Duration
	force  bool
}

func (w *replayWindow) register(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&w.window, "window", inbox.DefaultRetention, "for how long the receiver recognises an event that it has applied")
	cmd.Flags().BoolVar(&w.force, "force", false, "replay also events older than --window")
}

func (w *replayWindow) check(ctx context.Context, store outbox.Admin, f outbox.DeadLetterFilter) error {
	if w.force {
		return nil
	}
	letters, err := store.Replay(ctx, f, outbox.DryRun)
	if err != nil {
		return err
	}
	oldest := time.Now().Add(-w.window)
	for _, l := range letters {
		if l.EventCreatedAt.Before(oldest) {
			return fmt.Errorf("dead letter %d is of an event of %s, beyond the receiver's window of %s: if it was applied then and only the answer was lost, it would be applied twice; replay it with --force if that cannot be or does no harm",
				l.ID, instant(l.EventCreatedAt), w.window)
		}
	}
	return nil
}

// deadLetterLine is a dead letter in JSON.
type deadLetterLine struct {
	ID             int64              `json:"id"`
	EventID        string             `json:"event_id"`
	Type           string             `json:"event_type"`
	Version        int                `json:"schema_version"`
	Destination    string             `json:"destination"`
	OrderingKey    string             `json:"ordering_key,omitempty"`
	IdempotencyKey string             `json:"idempotency_key"`
	Kind           outbox.FailureKind `json:"failure_kind"`
	Reason         string             `json:"failure_reason"`
	RetryCount     int                `json:"retry_count"`
	ReplayCount    int                `json:"replay_count"`
	QuarantinedAt  time.Time          `json:"quarantined_at"`
	CreatedAt      time.Time          `json:"created_at"`
}

func writeDeadLetters(w io.Writer, format listFormat, letters []outbox.DeadLetterInfo) error {
	if format == listJSON {
		for _, l := range letters {
			if err := jsonLine(w, deadLetterLine{
				l.ID, l.EventID, l.EventType, l.Version, l.Destination, l.OrderingKey, l.IdempotencyKey,
				l.Kind, l.Reason, l.RetryCount, l.ReplayCount, l.QuarantinedAt.UTC(), l.EventCreatedAt.UTC(),
			}); err != nil {
				return err
			}
		}
		return nil
	}
	rows := make([][]string, len(letters))
	for i, l := range letters {
		rows[i] = []string{
			strconv.FormatInt(l.ID, 10), instant(l.QuarantinedAt), l.Destination, typeAndVersion(l),
			l.EventID, string(l.Kind), strconv.Itoa(l.RetryCount), shorten(l.Reason),
		}
	}
	return table(w, []string{"ID", "QUARANTINED", "DESTINATION", "TYPE", "EVENT", "KIND", "TRIES", "REASON"}, rows)
}

func typeAndVersion(l outbox.DeadLetterInfo) string {
	return fmt.Sprintf("%s@%d", l.EventType, l.Version)
}

// shorten keeps a table's line readable; dlq show has the whole text.
func shorten(s string) string {
	const limit = 80
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return s
}

func showDeadLetter(w io.Writer, l outbox.DeadLetterInfo, attempts []outbox.AttemptInfo) error {
	rows := [][2]string{
		{"id", strconv.FormatInt(l.ID, 10)},
		{"event", l.EventID},
		{"type", typeAndVersion(l)},
		{"destination", l.Destination},
		{"ordering key", l.OrderingKey},
		{"idempotency key", l.IdempotencyKey},
		{"created", instant(l.EventCreatedAt)},
		{"quarantined", instant(l.QuarantinedAt)},
		{"kind", string(l.Kind)},
		{"reason", l.Reason},
		{"tries", strconv.Itoa(l.RetryCount)},
		{"replays", strconv.Itoa(l.ReplayCount)},
		{"payload", string(json.RawMessage(l.Payload))},
	}
	for _, row := range rows {
		name := row[0]
		// A panic's reason is a stack trace. Its further lines are indented, so
		// that no text passes for a row.
		for line := range strings.Lines(row[1] + "\n") {
			if _, err := fmt.Fprintf(w, "%-16s %s\n", name, visible(strings.TrimSuffix(line, "\n"))); err != nil {
				return err
			}
			name = ""
		}
	}
	if len(attempts) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	lines := make([][]string, len(attempts))
	for i, a := range attempts {
		status := ""
		if a.StatusCode != 0 {
			status = strconv.Itoa(a.StatusCode)
		}
		lines[i] = []string{strconv.Itoa(a.Attempt), instant(a.StartedAt), a.Duration.Round(time.Millisecond).String(), status, a.Cause, shorten(a.Message)}
	}
	return table(w, []string{"ATTEMPT", "STARTED", "TOOK", "STATUS", "CAUSE", "ERROR"}, lines)
}
