package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	base "modernc.org/sqlite"
)

// errTransactionLost: SQLite ends a transaction by itself on some errors (disk
// full, I/O, an interrupt); what came after would otherwise be committed alone.
var errTransactionLost = errors.New("an earlier error has rolled this transaction back")

// connector opens the connections of one pool.
type connector struct {
	driver.Connector
	begin  string  // the statement that begins a transaction
	writer *writer // told of each transaction's end; nil for readers
}

func newConnector(dsn, begin string, w *writer) (*connector, error) {
	c, err := base.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return &connector{Connector: c, begin: begin, writer: w}, nil
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	sc, ok := opened.(sqliteConn)
	if !ok {
		opened.Close()
		return nil, lacking(opened)
	}
	return &conn{sqliteConn: sc, pool: c, cache: make(map[string]*statement)}, nil
}

// sqliteConn is what a connection of the driver can do.
type sqliteConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	base.DBStatus
}

func lacking(v any) error {
	return fmt.Errorf("the SQLite driver's %T lacks what this package needs of it: use the version that its go.mod names", v)
}

// conn keeps its statements prepared, the user's as well, and tells the writer
// how its transactions end, whoever began them. database/sql calls it from one
// goroutine at a time.
type conn struct {
	sqliteConn
	pool  *connector
	cache map[string]*statement

	open   bool // a transaction is
	doubt  bool // an error since its begin may have ended it
	broken bool // a transaction could not be ended
	pages  int  // of the WAL, as last told to the writer
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.statement(ctx, query)
	if err != nil {
		return nil, c.failed(err)
	}
	if s == nil {
		if err := c.stillOpen(); err != nil {
			return nil, err
		}
		result, err := c.sqliteConn.ExecContext(ctx, query, args)
		return result, c.failed(err)
	}
	defer func() { s.busy = false }()
	return s.ExecContext(ctx, args)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.statement(ctx, query)
	if err != nil {
		return nil, c.failed(err)
	}
	if s == nil {
		if err := c.stillOpen(); err != nil {
			return nil, err
		}
		opened, err := c.sqliteConn.QueryContext(ctx, query, args)
		return opened, c.failed(err)
	}
	opened, err := s.QueryContext(ctx, args)
	if err != nil {
		s.busy = false
	}
	return opened, err
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return c.prepare(ctx, query)
}

// failed notes that err may have ended the transaction.
func (c *conn) failed(err error) error {
	if err != nil {
		c.doubt = true
	}
	return err
}

// stillOpen returns errTransactionLost when SQLite has ended the transaction.
func (c *conn) stillOpen() error {
	if !c.open || !c.doubt {
		return nil
	}
	if _, err := c.sqliteConn.ExecContext(context.Background(), "BEGIN", nil); err != nil {
		c.doubt = false // there is one: they do not nest
		return nil
	}
	if _, err := c.sqliteConn.ExecContext(context.Background(), "ROLLBACK", nil); err != nil {
		return err
	}
	return errTransactionLost
}

// IsValid implements driver.Validator.
func (c *conn) IsValid() bool {
	return !c.broken && c.sqliteConn.IsValid()
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	for _, s := range c.cache {
		s.Close()
	}
	c.cache = nil
	return c.sqliteConn.Close()
}
