package sqlite

import (
	"context"
	"database/sql/driver"

	base "modernc.org/sqlite"
)

// waitKey carries the context that ends the wait for SQLite's lock, for
// transactions that nothing is to end once they have begun.
type waitKey struct{}

// BeginTx implements driver.ConnBeginTx.
func (c *conn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	if wait, ok := ctx.Value(waitKey{}).(context.Context); ok {
		ctx = wait
	}
	if err := c.run(ctx, c.pool.begin); err != nil {
		c.rollback() // a context that ended at the last moment may hide a success
		return nil, err
	}
	c.open, c.doubt = true, false
	return transaction{c}, nil
}

// rollback ends the transaction, if there is still one. A connection on which
// that fails does not go back to the pool.
func (c *conn) rollback() {
	c.open = false
	if c.run(context.Background(), "ROLLBACK") == nil {
		return
	}
	if c.run(context.Background(), "BEGIN") == nil && c.run(context.Background(), "ROLLBACK") == nil {
		return // there was none
	}
	c.broken = true
}

func (c *conn) run(ctx context.Context, query string) error {
	_, err := c.ExecContext(ctx, query, nil)
	return err
}

// transaction is the open transaction of a connection. database/sql calls
// Commit or Rollback, once.
type transaction struct{ conn *conn }

// Commit implements driver.Tx.
func (t transaction) Commit() error {
	w := t.conn.pool.writer
	if w != nil {
		w.committing()
	}
	err := t.conn.run(context.Background(), "COMMIT")
	if err != nil {
		t.conn.rollback()
	}
	t.end(err == nil)
	return err
}

// Rollback implements driver.Tx.
func (t transaction) Rollback() error {
	t.conn.rollback()
	t.end(false)
	return nil
}

func (t transaction) end(committed bool) {
	t.conn.open, t.conn.doubt = false, false
	w := t.conn.pool.writer
	if w == nil {
		return
	}
	pages, _, err := t.conn.Status(base.DBStatusCacheWrite, false)
	if err != nil {
		pages = t.conn.pages + 1
	}
	written := pages - t.conn.pages
	t.conn.pages = pages
	w.ended(committed, written)
}
