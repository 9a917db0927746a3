package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// movedAtOnce bounds one transaction of Move.
const movedAtOnce = 200

// Move implements outbox.Admin. A delivery whose lease has ended is moved as a
// suspect.
func (s *Store) Move(ctx context.Context, m outbox.Move) (outbox.MoveResult, error) {
	var all outbox.MoveResult
	if m.From == "" || m.To == "" || m.From == m.To {
		return all, errors.New("sqlite: move deliveries: From and To must be two destinations")
	}
	for after := int64(0); ; {
		var rows []sqlitedb.MovableRow
		batch := func(q *sqlitedb.Queries) (err error) {
			rows, err = q.Movable(background, sqlitedb.MovableParams{ToDestination: m.To, After: after, FromDestination: m.From, Batch: movedAtOnce})
			return err
		}
		var moved outbox.MoveResult
		var err error
		if m.Mode == outbox.DryRun {
			err = batch(sqlitedb.New(s.reads))
			for _, r := range rows {
				tally(&moved, r, s.micros())
			}
		} else {
			err = s.inTx(ctx, func(tx *sql.Tx) error {
				l := line{q: sqlitedb.New(tx), now: s.micros()}
				if err := batch(l.q); err != nil {
					return err
				}
				moved = outbox.MoveResult{}
				for _, r := range rows {
					if !tally(&moved, r, l.now) {
						continue
					}
					if err := l.move(m, r); err != nil {
						return err
					}
				}
				s.w.wakes.Store(true)
				return nil
			})
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return all, explain("move deliveries of "+m.From+" in", s.path, err)
		}
		all.Moved, all.Leased, all.Existing = all.Moved+moved.Moved, all.Leased+moved.Leased, all.Existing+moved.Existing
		if len(rows) < movedAtOnce {
			return all, nil
		}
		after = rows[len(rows)-1].Seq
	}
}

// tally says whether r may be moved and counts it.
func tally(sum *outbox.MoveResult, r sqlitedb.MovableRow, now int64) bool {
	switch {
	case r.Status == string(outbox.Processing) && r.AvailableAt > now:
		sum.Leased++
		return false
	case r.Existing:
		sum.Existing++
		return false
	}
	sum.Moved++
	return true
}

// move takes r out of its old line and puts it into its new one by seq.
func (l line) move(m outbox.Move, r sqlitedb.MovableRow) error {
	hold, ok := m.Hold[r.EventType]
	if !ok {
		hold = r.Hold != 0
	}
	err := oneRow(l.q.MoveDelivery(background, sqlitedb.MoveDeliveryParams{
		ToDestination: m.To, Hold: flag(hold), Now: l.now, Seq: r.Seq, FromDestination: m.From,
	}))
	if err != nil {
		return err
	}
	if r.Status == string(outbox.DeadLetter) {
		err := oneRow(l.q.MoveDeadLetter(background, sqlitedb.MoveDeadLetterParams{ToDestination: m.To, EventID: r.ID, FromDestination: m.From}))
		if err != nil {
			return err
		}
	}
	if r.OrderingKey == nil {
		return nil
	}
	if err := l.arrange(m.From, *r.OrderingKey); err != nil {
		return err
	}
	return l.arrange(m.To, *r.OrderingKey)
}
