package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// Insert implements outbox.Inserter. tx is one of InTx or Begin; a transaction
// of another pool of this process on the same file works too, more slowly, if
// that pool keeps the WAL's promises.
func (s *Store) Insert(ctx context.Context, tx *sql.Tx, rec outbox.Record) (outbox.Receipt, error) {
	ins, err := s.inserting(ctx, tx)
	if err != nil {
		return outbox.Receipt{}, fmt.Errorf("sqlite: insert %s: %w", rec.Type, err)
	}
	receipt, err := ins.one(rec)
	return receipt, s.insertError(rec, err)
}

// InsertBatch implements outbox.Inserter.
func (s *Store) InsertBatch(ctx context.Context, tx *sql.Tx, recs []outbox.Record) ([]outbox.Receipt, error) {
	ins, err := s.inserting(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("sqlite: insert a batch: %w", err)
	}
	if err := ins.exec("SAVEPOINT outbox_batch"); err != nil {
		return nil, explain("insert a batch into", s.path, err)
	}
	receipts := make([]outbox.Receipt, len(recs))
	for i, rec := range recs {
		if receipts[i], err = ins.one(rec); err != nil {
			err = &outbox.BatchError{Index: i, Err: s.insertError(rec, err)}
			return nil, ins.undo(err, ins.exec("ROLLBACK TO outbox_batch"), ins.exec("RELEASE outbox_batch"))
		}
	}
	if err := ins.exec("RELEASE outbox_batch"); err != nil {
		return nil, explain("insert a batch into", s.path, err)
	}
	return receipts, nil
}

// insertError says which event it was; a *DuplicateError does so itself.
func (s *Store) insertError(rec outbox.Record, err error) error {
	if err == nil || errors.Is(err, outbox.ErrDuplicate) {
		return err
	}
	return explain(fmt.Sprintf("insert %s %s into", rec.Type, rec.ID), s.path, err)
}

// inserting is the insert of events in one transaction.
type inserting struct {
	s   *Store
	tx  *sql.Tx
	q   *sqlitedb.Queries
	own bool // a transaction of the store's writer
	now int64
}

// background runs the statements: they never wait, and a context that can end
// costs the driver a goroutine each.
var background = context.Background()

func (s *Store) inserting(ctx context.Context, tx *sql.Tx) (*inserting, error) {
	if tx == nil {
		return nil, errors.New("the transaction is nil")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ins := &inserting{s: s, tx: tx, q: sqlitedb.New(tx), own: s.w.current.Load() == tx, now: s.micros()}
	if ins.own {
		return ins, nil
	}
	return ins, s.admit(tx)
}

// admit refuses a transaction of another pool whose commits Claim could not
// make durable, or that belongs to another database.
func (s *Store) admit(tx *sql.Tx) error {
	var file, mode string
	var synchronous int
	if err := tx.QueryRowContext(background, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file); err != nil {
		return err
	}
	if err := tx.QueryRowContext(background, "PRAGMA synchronous").Scan(&synchronous); err != nil {
		return err
	}
	if err := tx.QueryRowContext(background, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	switch {
	case file != s.path:
		return fmt.Errorf("the transaction is one of %s, the store is %s: begin it with the store's InTx or Begin", file, s.path)
	case synchronous == 0:
		return errors.New("the transaction's connection has synchronous=OFF: an event could be sent whose commit a power cut undoes")
	case mode != "wal":
		return fmt.Errorf("the transaction's connection has journal_mode=%s: it must be WAL", mode)
	}
	return nil
}

func (ins *inserting) exec(query string) error {
	_, err := ins.tx.ExecContext(background, query)
	return err
}

// one inserts the event and its deliveries, or nothing.
func (ins *inserting) one(rec outbox.Record) (outbox.Receipt, error) {
	headers, err := headersJSON(rec.Trace)
	if err != nil {
		return outbox.Receipt{}, err
	}
	payload := string(rec.Payload)
	result, err := ins.q.InsertEvent(background, sqlitedb.InsertEventParams{
		ID:             rec.ID.String(),
		EventType:      rec.Type,
		SchemaVersion:  int64(rec.Version),
		OrderingKey:    textOrNull(rec.OrderingKey),
		IdempotencyKey: rec.IdempotencyKey,
		Now:            ins.now,
		HeadersJson:    headers,
		PayloadJson:    payload,
	})
	if err != nil {
		return outbox.Receipt{}, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return ins.duplicate(rec, payload, err)
	}
	seq, err := result.LastInsertId()
	if err != nil {
		return outbox.Receipt{}, err
	}
	for _, r := range rec.Routes {
		if err := ins.delivery(seq, rec.OrderingKey, r); err != nil {
			err = fmt.Errorf("delivery to %q: %w", r.Destination, err)
			_, undone := ins.tx.ExecContext(background, "DELETE FROM outbox_delivery WHERE seq = ?", seq)
			_, undone2 := ins.tx.ExecContext(background, "DELETE FROM outbox WHERE seq = ?", seq)
			return outbox.Receipt{}, ins.undo(err, undone, undone2)
		}
	}
	if ins.own {
		ins.s.w.wakes.Store(true)
		ins.s.w.lastSeq.Store(seq)
	}
	return outbox.Receipt{ID: rec.ID, IdempotencyKey: rec.IdempotencyKey}, nil
}

// undo returns err. When what should have undone the failed part failed as
// well, the whole transaction goes: nobody may commit half an event.
func (ins *inserting) undo(err error, undone ...error) error {
	for _, failed := range undone {
		if failed != nil && !errors.Is(failed, errTransactionLost) {
			_ = ins.tx.Rollback()
			return fmt.Errorf("%w; that could not be undone (%v), so the transaction was rolled back", err, failed)
		}
	}
	return err
}

func (ins *inserting) delivery(seq int64, key string, r outbox.Route) error {
	if key == "" {
		return ins.q.InsertDelivery(background, sqlitedb.InsertDeliveryParams{Seq: seq, Destination: r.Destination, Hold: flag(r.Hold), Now: ins.now})
	}
	return ins.q.InsertKeyedDelivery(background, sqlitedb.InsertKeyedDeliveryParams{
		Seq: seq, Destination: r.Destination, OrderingKey: &key, Hold: flag(r.Hold), Now: ins.now,
	})
}

func (ins *inserting) duplicate(rec outbox.Record, payload string, err error) (outbox.Receipt, error) {
	if err != nil {
		return outbox.Receipt{}, err
	}
	there, err := ins.q.FindDuplicate(background, sqlitedb.FindDuplicateParams{PayloadJson: payload, IdempotencyKey: rec.IdempotencyKey})
	if err != nil {
		return outbox.Receipt{}, err
	}
	id, err := uuid.Parse(there.ID)
	if err != nil {
		return outbox.Receipt{}, fmt.Errorf("the event that holds idempotency key %s has id %q: %w", rec.IdempotencyKey, there.ID, err)
	}
	differs := there.PayloadDiffers != 0
	if !rec.IgnoreDuplicate {
		return outbox.Receipt{}, &outbox.DuplicateError{ID: id, Type: rec.Type, IdempotencyKey: rec.IdempotencyKey, PayloadDiffers: differs}
	}
	return outbox.Receipt{ID: id, IdempotencyKey: rec.IdempotencyKey, Duplicate: true, PayloadDiffers: differs}, nil
}

func headersJSON(t outbox.Trace) (*string, error) {
	if t == (outbox.Trace{}) {
		return nil, nil
	}
	b, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	s := string(b)
	return &s, nil
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
