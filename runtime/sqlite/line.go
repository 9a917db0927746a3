package sqlite

import (
	"database/sql"
	"errors"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// line moves the turn of ordering keys, in a transaction.
type line struct {
	q   *sqlitedb.Queries
	now int64
}

// left is a delivery with an ordering key that was settled or given back.
type left struct {
	seq         int64
	destination string
	key         string
	token       int64 // of its lease; 0: it had none
	turn        bool  // it had its key's turn
	failed      bool  // it stays in line: what follows in its run may not be attempted
}

// leave gives back the rest of the run of a failed delivery and passes the
// turn, if it had that, to the next of its run, else to the earliest in line.
func (l line) leave(d left) error {
	if d.failed && d.token != 0 {
		_, err := l.q.GiveBackRun(background, sqlitedb.GiveBackRunParams{
			Now: l.now, Destination: d.destination, OrderingKey: &d.key, LeaseToken: d.token, Failed: d.seq,
		})
		if err != nil {
			return err
		}
	}
	if !d.turn {
		return nil
	}
	return l.pass(d.destination, d.key, d.token)
}

// pass gives a turn that nobody has to the next of the run with the token,
// else to the earliest in line, unless that is a dead letter that holds.
func (l line) pass(destination, key string, token int64) error {
	_, err := l.q.PassTurn(background, sqlitedb.PassTurnParams{Destination: destination, OrderingKey: &key, LeaseToken: token})
	return err
}

// arrange sees to it, after a delivery has entered the line or left it without
// a lease, that the earliest has the turn; while the turn is leased, it stays.
func (l line) arrange(destination, key string) error {
	holder, err := l.q.TurnHolder(background, sqlitedb.TurnHolderParams{Destination: destination, OrderingKey: &key})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return l.pass(destination, key, 0)
	case err != nil || holder.Status == string(outbox.Processing):
		return err
	}
	first, err := l.q.FirstInLine(background, sqlitedb.FirstInLineParams{Destination: destination, OrderingKey: &key})
	if err != nil || first.Seq == holder.Seq {
		return err
	}
	if _, err := l.q.TakeTurn(background, sqlitedb.TakeTurnParams{Seq: holder.Seq, Destination: destination}); err != nil {
		return err
	}
	return l.pass(destination, key, 0)
}

// deadly is a delivery to be quarantined.
type deadly struct {
	seq         int64
	destination string
	kind        outbox.FailureKind
	reason      string
	spent       bool
}

// quarantine makes an open delivery a dead letter and returns its number. Its
// key's turn is for the caller to pass.
func (l line) quarantine(d deadly) (id int64, err error) {
	n, err := l.q.QuarantineOne(background, sqlitedb.QuarantineOneParams{
		Spent: flag(d.spent), LastError: &d.reason, Now: l.now, Seq: d.seq, Destination: d.destination,
	})
	if err != nil {
		return 0, err
	}
	if n != 1 {
		return 0, errors.New("the delivery to quarantine is not open")
	}
	return l.q.InsertDeadLetter(background, sqlitedb.InsertDeadLetterParams{
		FailureKind: string(d.kind), FailureReason: d.reason, Now: l.now, Seq: d.seq, Destination: d.destination,
	})
}
