package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// SetDestination implements outbox.Store.
func (s *Store) SetDestination(ctx context.Context, c outbox.DestinationChange) error {
	if c.Destination == "" {
		return errors.New("sqlite: set a destination: it has no name")
	}
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		q, now := sqlitedb.New(tx), s.micros()
		reason := text(c.Reason)
		switch c.Action {
		case outbox.Pause:
			until := later(now, c.For)
			return q.PauseDestination(background, sqlitedb.PauseDestinationParams{Destination: c.Destination, Until: &until, Reason: textOrNull(reason), Now: now})
		case outbox.Resume:
			s.w.wakes.Store(true)
			return q.ResumeDestination(background, sqlitedb.ResumeDestinationParams{Now: now, Destination: c.Destination})
		case outbox.Disable:
			reason = cmp.Or(reason, "disabled")
			return q.DisableDestination(background, sqlitedb.DisableDestinationParams{Destination: c.Destination, Reason: &reason, Now: now})
		case outbox.Enable:
			s.w.wakes.Store(true)
			return q.EnableDestination(background, sqlitedb.EnableDestinationParams{Now: now, Destination: c.Destination})
		}
		return fmt.Errorf("action %d is none", c.Action)
	})
	return explain("set destination "+c.Destination+" in", s.path, err)
}

// Destinations implements outbox.Store: what is marked and what open
// deliveries or dead letters name, by name. It reads the indexes of open
// deliveries, beside the writer.
func (s *Store) Destinations(ctx context.Context) ([]outbox.DestinationState, error) {
	states, err := s.destinations(ctx)
	return states, explain("list the destinations of", s.path, err)
}

func (s *Store) destinations(ctx context.Context) ([]outbox.DestinationState, error) {
	tx, err := s.reads.BeginTx(ctx, nil) // one snapshot for all counts
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	q, now := sqlitedb.New(tx), s.micros()
	byName := make(map[string]*outbox.DestinationState)
	of := func(name string) *outbox.DestinationState {
		if byName[name] == nil {
			byName[name] = &outbox.DestinationState{Destination: name}
		}
		return byName[name]
	}
	waited := func(d *outbox.DestinationState, due int64) {
		d.OldestDue = max(d.OldestDue, duration(now-due))
	}

	marks, err := q.DestinationMarks(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range marks {
		d := of(m.Destination)
		if m.PausedUntil != nil && *m.PausedUntil > now {
			d.PausedFor = duration(*m.PausedUntil - now)
			d.Reason = textOf(m.PausedReason)
		}
		d.DisabledReason = textOf(m.DisabledReason)
	}
	ready, err := q.CountReady(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range ready {
		d := of(r.Destination)
		d.Pending += r.Pending
		waited(d, r.Oldest)
	}
	leased, err := q.CountLeased(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range leased {
		d := of(r.Destination)
		d.Pending, d.Processing = d.Pending+r.Pending, d.Processing+r.Processing
		waited(d, r.Oldest)
	}
	waiting, err := q.CountWaiting(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range waiting {
		d := of(r.Destination)
		d.Pending, d.Processing = d.Pending+r.Pending, d.Processing+r.Processing
	}
	dead, err := q.CountDeadLetters(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range dead {
		of(r.Destination).DeadLetters = r.DeadLetters
	}

	states := make([]outbox.DestinationState, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		states = append(states, *byName[name])
	}
	return states, nil
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
