package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	_ "modernc.org/sqlite"
)

// openPeerDB opens a database as our store opens its own: WAL, NORMAL, the
// write lock taken at BEGIN.
func openPeerDB(path string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)")
}

const (
	businessTable  = `CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, amount TEXT NOT NULL)`
	businessInsert = `INSERT INTO orders (id, customer, amount) VALUES (?, ?, ?)`
)

func createBusiness(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, businessTable)
	return err
}

func insertBusiness(ctx context.Context, tx *sql.Tx, id int) error {
	_, err := tx.ExecContext(ctx, businessInsert, id, "ada@example.org", "12.50")
	return err
}

func inTx(ctx context.Context, db *sql.DB, fn func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

var nextID int

// repeat numbers the transactions of a process, so that no business row
// meets another.
func repeat(ctx context.Context, n int, one func(context.Context, int) error) error {
	for range n {
		nextID++
		if err := one(ctx, nextID); err != nil {
			return err
		}
	}
	return nil
}

// note and orderID make every subject's payload 200 bytes of JSON.
var note = strings.Repeat("x", 140)

func orderID(id int) string { return fmt.Sprintf("%032d", id) }

// payload is what the generated code writes for the same event.
func payload(id int) []byte {
	return []byte(`{"note":"` + note + `","order_id":"` + orderID(id) + `"}`)
}

func count(ctx context.Context, db *sql.DB, query string) (n int, err error) {
	err = db.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}
