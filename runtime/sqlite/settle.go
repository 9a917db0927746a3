package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// AttemptsKept is how many failed attempts of a delivery outbox_attempt keeps:
// the last ones.
const AttemptsKept = 20

// maxMessage bounds stored error texts, in bytes.
const maxMessage = 2048

// Settle implements outbox.Store. When a delivery stays in line (a retry, a
// give-back, a dead letter that holds), the rest of its run is given back in
// the same transaction; a GiveBack for one of those is then not counted lost.
func (s *Store) Settle(ctx context.Context, settlements []outbox.Settlement) ([]bool, error) {
	if len(settlements) == 0 {
		return nil, nil
	}
	var lost []bool
	err := s.inTx(context.WithoutCancel(ctx), func(tx *sql.Tx) error {
		q := sqlitedb.New(tx)
		t := &settling{q: q, line: line{q: q, now: s.micros()}, settlements: settlements, lost: make([]bool, len(settlements))}
		for _, destination := range t.destinations() {
			if err := t.destination(destination); err != nil {
				return fmt.Errorf("to %s: %w", destination, err)
			}
		}
		lost = t.lost
		s.w.wakes.Store(t.wakes)
		return nil
	})
	if err != nil {
		return nil, explain("settle in", s.path, err)
	}
	return lost, nil
}

// settling is one settle transaction.
type settling struct {
	q           *sqlitedb.Queries
	line        line
	settlements []outbox.Settlement
	lost        []bool
	wakes       bool

	// Of the destination under way.
	name      string
	leased    map[int64]sqlitedb.LeasedRow // by seq; not yet settled
	returned  map[int64]int64              // seq → token: given back as the rest of a run
	delivered []int64                      // not yet written
	turns     []left                       // to be passed
}

func (t *settling) destinations() []string {
	var names []string
	for _, st := range t.settlements {
		if !slices.Contains(names, st.Lease.Destination) {
			names = append(names, st.Lease.Destination)
		}
	}
	return names
}

func (t *settling) destination(name string) error {
	t.name, t.leased, t.returned, t.turns = name, make(map[int64]sqlitedb.LeasedRow), make(map[int64]int64), t.turns[:0]
	var mine []int
	var seqs []int64
	for i, st := range t.settlements {
		if st.Lease.Destination == name {
			mine, seqs = append(mine, i), append(seqs, st.Lease.Seq)
		}
	}
	rows, err := t.q.Leased(background, sqlitedb.LeasedParams{Destination: name, Seqs: numbers(seqs)})
	if err != nil {
		return err
	}
	for _, r := range rows {
		t.leased[r.Seq] = r
	}
	for _, i := range mine {
		st := t.settlements[i]
		row, held := t.leased[st.Lease.Seq]
		if !held || row.LeaseToken != st.Lease.Token {
			token, returned := t.returned[st.Lease.Seq]
			t.lost[i] = st.Verdict != outbox.GiveBack || !returned || token != st.Lease.Token
			continue
		}
		delete(t.leased, st.Lease.Seq) // a second settlement of it is lost
		if err := t.settle(st, row); err != nil {
			return fmt.Errorf("seq %d: %w", st.Lease.Seq, err)
		}
	}
	if err := t.publish(); err != nil {
		return err
	}
	for _, d := range t.turns {
		if err := t.line.pass(name, d.key, d.token); err != nil {
			return err
		}
	}
	return nil
}

func (t *settling) settle(st outbox.Settlement, row sqlitedb.LeasedRow) error {
	if st.Attempted && st.Failure != nil {
		if err := t.attempt(st); err != nil {
			return err
		}
	}
	failed := true // stays in line
	var err error
	switch st.Verdict {
	case outbox.Deliver:
		t.delivered = append(t.delivered, st.Lease.Seq)
		failed = false
	case outbox.Retry:
		err = t.retry(st)
	case outbox.GiveBack:
		err = t.giveBack(st)
	case outbox.Quarantine:
		reason := string(st.Kind)
		if st.Failure != nil && st.Failure.Message != "" {
			reason = st.Failure.Message
		}
		_, err = t.line.quarantine(deadly{seq: st.Lease.Seq, destination: t.name, kind: st.Kind, reason: text(reason), spent: st.Spent})
		failed = row.Hold != 0
	default:
		err = fmt.Errorf("verdict %d is none", st.Verdict)
	}
	if err != nil {
		return err
	}
	t.wakes = t.wakes || st.Verdict != outbox.Deliver
	if row.OrderingKey == nil {
		return nil
	}
	return t.leave(left{seq: st.Lease.Seq, destination: t.name, key: *row.OrderingKey, token: st.Lease.Token, turn: row.Ready != 0, failed: failed})
}

// leave gives back the rest of a failed delivery's run. The turn is passed when
// all is written: the next of the run may be settled in the same call.
func (t *settling) leave(d left) error {
	if d.turn {
		t.turns = append(t.turns, d)
		t.wakes = true
	}
	if !d.failed {
		return nil
	}
	if err := t.publish(); err != nil { // what is delivered is not to be given back
		return err
	}
	passed := d
	passed.turn = false
	if err := t.line.leave(passed); err != nil {
		return err
	}
	for seq, r := range t.leased {
		if seq > d.seq && r.Ready == 0 && r.LeaseToken == d.token && r.OrderingKey != nil && *r.OrderingKey == d.key {
			delete(t.leased, seq)
			t.returned[seq] = d.token
		}
	}
	return nil
}

func (t *settling) publish() error {
	if len(t.delivered) == 0 {
		return nil
	}
	n, err := t.q.PublishMany(background, sqlitedb.PublishManyParams{Now: t.line.now, Destination: t.name, Seqs: numbers(t.delivered)})
	if err == nil && n != int64(len(t.delivered)) {
		err = fmt.Errorf("%d of %d deliveries were published", n, len(t.delivered))
	}
	t.delivered = t.delivered[:0]
	return err
}

func (t *settling) retry(st outbox.Settlement) error {
	n, err := t.q.RetryOne(background, sqlitedb.RetryOneParams{
		Spent: flag(st.Spent), AvailableAt: later(t.line.now, st.Delay), LastError: message(st.Failure), Now: t.line.now,
		Seq: st.Lease.Seq, Destination: t.name, LeaseToken: st.Lease.Token,
	})
	return oneRow(n, err)
}

func (t *settling) giveBack(st outbox.Settlement) error {
	n, err := t.q.GiveBackOne(background, sqlitedb.GiveBackOneParams{
		Delay: later(0, st.Delay), LastError: message(st.Failure), Now: t.line.now,
		Seq: st.Lease.Seq, Destination: t.name, LeaseToken: st.Lease.Token,
	})
	return oneRow(n, err)
}

func oneRow(n int64, err error) error {
	if err == nil && n != 1 {
		return fmt.Errorf("%d rows instead of one", n)
	}
	return err
}

func (t *settling) attempt(st outbox.Settlement) error {
	f := st.Failure
	started := f.StartedAt.UnixMicro()
	if f.StartedAt.IsZero() {
		started = t.line.now - f.Duration.Microseconds()
	}
	err := t.q.InsertAttempt(background, sqlitedb.InsertAttemptParams{
		Seq: st.Lease.Seq, Destination: t.name, StartedAt: started, Duration: f.Duration.Microseconds(),
		StatusCode: int64(f.StatusCode), Cause: text(f.Cause), Error: text(f.Message),
	})
	if err != nil {
		return err
	}
	return t.q.CapAttempts(background, sqlitedb.CapAttemptsParams{Seq: st.Lease.Seq, Destination: t.name, Kept: AttemptsKept})
}

func message(f *outbox.Failure) *string {
	if f == nil {
		return nil
	}
	s := text(f.Message)
	return &s
}

// text makes s fit to be stored: valid UTF-8 without NUL, and short.
func text(s string) string {
	s = s[:min(len(s), maxMessage)]
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	end := min(len(s), maxMessage)
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// Renew implements outbox.Store.
func (s *Store) Renew(ctx context.Context, leases []outbox.Lease, d time.Duration) ([]bool, error) {
	lost := make([]bool, len(leases))
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		q, now := sqlitedb.New(tx), s.micros()
		for i, l := range leases {
			n, err := q.RenewOne(background, sqlitedb.RenewOneParams{
				LeaseEnd: later(now, d), Now: now, Seq: l.Seq, Destination: l.Destination, LeaseToken: l.Token,
			})
			if err != nil {
				return err
			}
			lost[i] = n == 0
		}
		return nil
	})
	if err != nil {
		return nil, explain("renew leases in", s.path, err)
	}
	return lost, nil
}
