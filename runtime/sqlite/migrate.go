package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
	"github.com/outboxgen/outboxgen/schema"
)

// migrate brings the schema up to date. It looks again under the write lock:
// another process may have been faster.
func (s *Store) migrate(ctx context.Context, mode Migrations) error {
	have, err := applied(ctx, s.w.db)
	if err != nil || have == schema.Version() {
		return err
	}
	if have < schema.Version() && mode == Check {
		return &Error{Op: "open", Path: s.path, Kind: ErrSchema,
			Err:  fmt.Errorf("it has migration %d, %d is needed, and Options.Migrations is Check", have, schema.Version()),
			Hint: "apply what `outboxgen schema` prints"}
	}
	return s.inTx(ctx, func(tx *sql.Tx) error {
		have, err := applied(ctx, tx)
		if err != nil {
			return err
		}
		if have > schema.Version() {
			return &Error{Op: "open", Path: s.path, Kind: ErrSchema,
				Err:  fmt.Errorf("it has migration %d and this program knows %d", have, schema.Version()),
				Hint: "a newer version has migrated it: update this program"}
		}
		for _, m := range schema.Migrations()[have:] {
			if _, err := tx.ExecContext(ctx, m.SQL); err != nil {
				return fmt.Errorf("migration %d (%s): %w", m.Version, m.Name, err)
			}
		}
		return nil
	})
}

// applied is the last migration that the database has, 0 for none.
func applied(ctx context.Context, db sqlitedb.DBTX) (int, error) {
	var tables int
	err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'outbox_schema'").Scan(&tables)
	if err != nil || tables == 0 {
		return 0, err
	}
	version, err := sqlitedb.New(db).AppliedMigration(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return int(version), err
}
