package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/storetest"
)

func TestStore_Conforms(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Harness {
		path := filepath.Join(t.TempDir(), "shop.db")
		s := openStore(t, path, Options{Now: now})
		other := openStore(t, path, Options{Now: now})
		createEffects(t, s)
		return storetest.Harness{
			Store: s,
			Other: other,
			InTx: func(ctx context.Context, fn func(storetest.Tx) error) error {
				return s.InTx(ctx, func(tx *sql.Tx) error {
					return fn(storetest.Tx{
						Insert: func(ctx context.Context, rec outbox.Record) (outbox.Receipt, error) { return s.Insert(ctx, tx, rec) },
						InsertBatch: func(ctx context.Context, recs []outbox.Record) ([]outbox.Receipt, error) {
							return s.InsertBatch(ctx, tx, recs)
						},
						Write: func(ctx context.Context, effect string) error { return writeEffect(ctx, tx, effect) },
					})
				})
			},
			Effects: func(ctx context.Context) ([]string, error) { return effects(ctx, s) },
			Status: func(ctx context.Context, id uuid.UUID, destination string) (outbox.Status, bool, error) {
				var status outbox.Status
				err := s.readers.QueryRowContext(ctx, "SELECT d.status FROM outbox AS o JOIN outbox_delivery AS d ON d.seq = o.seq WHERE o.id = ? AND d.destination = ?", id.String(), destination).Scan(&status)
				if errors.Is(err, sql.ErrNoRows) {
					return "", false, nil
				}
				return status, err == nil, err
			},
			Strand: func(ctx context.Context, destination, key string) error {
				return s.InTx(ctx, func(tx *sql.Tx) error {
					_, err := tx.ExecContext(ctx, "UPDATE outbox_delivery SET ready = 0 WHERE destination = ? AND ordering_key = ?", destination, key)
					return err
				})
			},
			Close: func() error { return errors.Join(other.Close(), s.Close()) },
			Check: func(ctx context.Context) error { return checkTurns(ctx, s) },
		}
	})
}

func TestInbox_Conforms(t *testing.T) {
	storetest.RunInbox(t, func(t *testing.T, now func() time.Time) storetest.Inbox[*sql.Tx] {
		path := filepath.Join(t.TempDir(), "shop.db")
		s := openStore(t, path, Options{Now: now})
		createEffects(t, s)
		return storetest.Inbox[*sql.Tx]{
			Store:   s.Inbox(),
			Other:   openStore(t, path, Options{Now: now}).Inbox(),
			Write:   writeEffect,
			Effects: func(ctx context.Context) ([]string, error) { return effects(ctx, s) },
		}
	})
}

func openStore(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func createEffects(t testing.TB, s *Store) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec("CREATE TABLE effect (n INTEGER PRIMARY KEY AUTOINCREMENT, effect TEXT NOT NULL)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func writeEffect(ctx context.Context, tx *sql.Tx, effect string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effect (effect) VALUES (?)", effect)
	return err
}

func effects(ctx context.Context, s *Store) ([]string, error) {
	rows, err := s.readers.QueryContext(ctx, "SELECT effect FROM effect ORDER BY n")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var effect string
		if err := rows.Scan(&effect); err != nil {
			return nil, err
		}
		all = append(all, effect)
	}
	return all, rows.Err()
}

// checkTurns looks for keys whose turn is where it must not be, and for rows
// without their parents.
func checkTurns(ctx context.Context, s *Store) error {
	const wrong = `
SELECT l.destination || '/' || l.ordering_key || ': ' || CASE
    WHEN l.turns > 1 THEN 'the turn is given twice'
    WHEN l.turns = 0 AND f.status <> 'DEAD_LETTER' THEN 'nobody has the turn'
    WHEN h.status = 'PENDING' AND h.seq <> f.seq THEN 'the turn is not with the earliest'
    WHEN h.status = 'PENDING' AND l.leased > 0 THEN 'some are leased though the turn is not'
  END AS fault
FROM (SELECT destination, ordering_key, min(seq) AS first, sum(ready) AS turns, max(CASE ready WHEN 1 THEN seq END) AS holder, sum(status = 'PROCESSING') AS leased
    FROM outbox_delivery WHERE in_line = 1 GROUP BY destination, ordering_key) AS l
  JOIN outbox_delivery AS f ON f.seq = l.first AND f.destination = l.destination
  LEFT JOIN outbox_delivery AS h ON h.seq = l.holder AND h.destination = l.destination
WHERE fault IS NOT NULL
UNION ALL SELECT 'orphan in ' || "table" FROM pragma_foreign_key_check
UNION ALL SELECT 'dead letter ' || id || ' without its delivery' FROM dead_letter_queue AS q WHERE NOT EXISTS (
  SELECT 1 FROM outbox AS o JOIN outbox_delivery AS d ON d.seq = o.seq WHERE o.id = q.original_event_id AND d.destination = q.destination AND d.status = 'DEAD_LETTER')
UNION ALL SELECT 'held dead letter ' || seq || ' without its row' FROM outbox_delivery AS d WHERE status = 'DEAD_LETTER' AND in_line = 1 AND NOT EXISTS (
  SELECT 1 FROM outbox AS o JOIN dead_letter_queue AS q ON q.original_event_id = o.id WHERE o.seq = d.seq AND q.destination = d.destination)`
	rows, err := s.reads.QueryContext(ctx, wrong)
	if err != nil {
		return err
	}
	defer rows.Close()
	var faults []error
	for rows.Next() {
		var fault string
		if err := rows.Scan(&fault); err != nil {
			return err
		}
		faults = append(faults, fmt.Errorf("%s", fault))
	}
	return errors.Join(append(faults, rows.Err())...)
}
