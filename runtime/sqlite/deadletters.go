package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"time"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// deadLettersAtOnce bounds one page, and one transaction, of a bulk operation.
const deadLettersAtOnce = 100

// DeadLetters implements outbox.Admin.
func (s *Store) DeadLetters(ctx context.Context, f outbox.DeadLetterFilter) ([]outbox.DeadLetterInfo, error) {
	if f.Limit <= 0 {
		f.Limit = outbox.DefaultPage
	}
	rows, err := s.deadLetters(ctx, sqlitedb.New(s.reads), f, math.MaxInt64, f.Limit)
	if err != nil {
		return nil, explain("list the dead letters of", s.path, err)
	}
	return infos(rows), nil
}

func (s *Store) deadLetters(ctx context.Context, q *sqlitedb.Queries, f outbox.DeadLetterFilter, upto int64, limit int) ([]sqlitedb.DeadLettersRow, error) {
	p := sqlitedb.DeadLettersParams{
		WithPayload: flag(f.WithPayload),
		After:       f.After,
		Upto:        upto,
		EventID:     orNull(f.EventID),
		Destination: orNull(f.Destination),
		FailureKind: orNull(string(f.Kind)),
		Reason:      orNull(f.ReasonMatches),
		EventType:   orNull(f.EventType),
		Batch:       int64(limit),
	}
	if f.IDs != nil {
		p.Ids = numbers(f.IDs)
	}
	if f.OlderThan > 0 {
		p.QuarantinedBefore = s.micros() - later(0, f.OlderThan)
	}
	return q.DeadLetters(ctx, p)
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func infos(rows []sqlitedb.DeadLettersRow) []outbox.DeadLetterInfo {
	list := make([]outbox.DeadLetterInfo, len(rows))
	for i, r := range rows {
		list[i] = outbox.DeadLetterInfo{
			ID: r.ID, EventID: r.OriginalEventID, EventType: r.EventType, Version: int(r.SchemaVersion), Destination: r.Destination,
			OrderingKey: textOf(r.OrderingKey), IdempotencyKey: r.IdempotencyKey, Kind: outbox.FailureKind(r.FailureKind), Reason: r.FailureReason,
			RetryCount: int(r.RetryCount), ReplayCount: int(r.ReplayCount), QuarantinedAt: when(r.QuarantinedAt), EventCreatedAt: when(r.CreatedAt),
		}
		if r.PayloadJson != "" {
			list[i].Payload = json.RawMessage(r.PayloadJson)
		}
	}
	return list
}

// Replay implements outbox.Admin.
func (s *Store) Replay(ctx context.Context, f outbox.DeadLetterFilter, mode outbox.Mode) ([]outbox.DeadLetterInfo, error) {
	done, err := s.eachDeadLetter(ctx, f, mode, func(l line, r sqlitedb.DeadLettersRow) error {
		return oneRow(l.q.ReplayDelivery(background, sqlitedb.ReplayDeliveryParams{Now: l.now, Seq: r.Seq, Destination: r.Destination}))
	})
	return done, explain("replay dead letters of", s.path, err)
}

// Discard implements outbox.Admin.
func (s *Store) Discard(ctx context.Context, f outbox.DeadLetterFilter, mode outbox.Mode) ([]outbox.DeadLetterInfo, error) {
	done, err := s.eachDeadLetter(ctx, f, mode, func(l line, r sqlitedb.DeadLettersRow) error {
		return oneRow(l.q.DiscardDelivery(background, sqlitedb.DiscardDeliveryParams{Now: l.now, Seq: r.Seq, Destination: r.Destination}))
	})
	return done, explain("discard dead letters of", s.path, err)
}

// eachDeadLetter applies change to the dead letters that f selects and that are
// there now, page by page, drops their rows and arranges their lines. What it
// returns was done, also when there is an error.
func (s *Store) eachDeadLetter(ctx context.Context, f outbox.DeadLetterFilter, mode outbox.Mode, change func(line, sqlitedb.DeadLettersRow) error) ([]outbox.DeadLetterInfo, error) {
	last, err := sqlitedb.New(s.reads).LastDeadLetter(ctx)
	if err != nil {
		return nil, err
	}
	var all []outbox.DeadLetterInfo
	for {
		page := deadLettersAtOnce
		if f.Limit > 0 {
			page = min(page, f.Limit-len(all))
		}
		if page == 0 {
			return all, nil
		}
		rows, err := s.page(ctx, f, mode, last, page, change)
		if err != nil {
			return all, err
		}
		all = append(all, infos(rows)...)
		if len(rows) < page {
			return all, nil
		}
		f.After = rows[len(rows)-1].ID
	}
}

func (s *Store) page(ctx context.Context, f outbox.DeadLetterFilter, mode outbox.Mode, last int64, size int, change func(line, sqlitedb.DeadLettersRow) error) (rows []sqlitedb.DeadLettersRow, err error) {
	if mode == outbox.DryRun {
		return s.deadLetters(ctx, sqlitedb.New(s.reads), f, last, size)
	}
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		l := line{q: sqlitedb.New(tx), now: s.micros()}
		rows, err = s.deadLetters(background, l.q, f, last, size)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := change(l, r); err != nil {
				return err
			}
			if err := oneRow(l.q.DropDeadLetter(background, r.ID)); err != nil {
				return err
			}
			if r.OrderingKey == nil {
				continue
			}
			if err := l.arrange(r.Destination, *r.OrderingKey); err != nil {
				return err
			}
		}
		s.w.wakes.Store(true)
		return nil
	})
	return rows, err
}

// Attempts implements outbox.Admin: the failed ones, at most AttemptsKept of
// each delivery. An empty destination stands for all.
func (s *Store) Attempts(ctx context.Context, eventID, destination string) ([]outbox.AttemptInfo, error) {
	rows, err := sqlitedb.New(s.reads).Attempts(ctx, sqlitedb.AttemptsParams{EventID: eventID, Destination: orNull(destination)})
	if err != nil {
		return nil, explain("list the attempts in", s.path, err)
	}
	attempts := make([]outbox.AttemptInfo, len(rows))
	for i, r := range rows {
		attempts[i] = outbox.AttemptInfo{EventID: eventID, Destination: r.Destination, Attempt: int(r.Attempt), Failure: outbox.Failure{
			StartedAt: when(r.StartedAt), Duration: time.Duration(r.Duration) * time.Microsecond, StatusCode: int(r.StatusCode), Cause: r.Cause, Message: r.Error,
		}}
	}
	return attempts, nil
}
