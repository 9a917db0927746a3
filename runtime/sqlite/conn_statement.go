package sqlite

import (
	"context"
	"database/sql/driver"
	"strings"
)

// maxStatements bounds a connection's cache: texts that are put together anew
// each time must not fill the memory.
const maxStatements = 256

// statement is a prepared statement of one connection.
type statement struct {
	sqliteStmt
	conn *conn
	busy bool // for a cached one: its rows are being read
}

// sqliteStmt is what a statement of the driver can do.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func (c *conn) prepare(ctx context.Context, query string) (*statement, error) {
	prepared, err := c.sqliteConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s, ok := prepared.(sqliteStmt)
	if !ok {
		prepared.Close()
		return nil, lacking(prepared)
	}
	return &statement{sqliteStmt: s, conn: c}, nil
}

// statement returns query's cached statement, marked busy, or nil when the
// query is not worth keeping or its statement is in use.
func (c *conn) statement(ctx context.Context, query string) (*statement, error) {
	s := c.cache[query]
	switch {
	case s == nil && !worthKeeping(query), s != nil && s.busy:
		return nil, nil
	case s == nil:
		var err error
		if s, err = c.prepare(ctx, query); err != nil {
			return nil, err
		}
		c.makeRoom()
		c.cache[query] = s
	}
	s.busy = true
	return s, nil
}

// makeRoom closes what is not in use once the cache is full.
func (c *conn) makeRoom() {
	if len(c.cache) < maxStatements {
		return
	}
	for query, s := range c.cache {
		if !s.busy {
			s.Close()
			delete(c.cache, query)
		}
	}
}

// worthKeeping reports whether query reads or writes rows: what else there is
// runs once, or changes what others are prepared against.
func worthKeeping(query string) bool {
	for {
		query = strings.TrimLeft(query, " \t\r\n")
		if !strings.HasPrefix(query, "--") {
			break
		}
		_, query, _ = strings.Cut(query, "\n")
	}
	end := strings.IndexAny(query, " \t\r\n(;")
	if end < 0 {
		end = len(query)
	}
	switch strings.ToUpper(query[:end]) {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "VALUES", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE":
		return true
	}
	return false
}

// ExecContext implements driver.StmtExecContext.
func (s *statement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.conn.stillOpen(); err != nil {
		return nil, err
	}
	result, err := s.sqliteStmt.ExecContext(ctx, args)
	return result, s.conn.failed(err)
}

// QueryContext implements driver.StmtQueryContext.
func (s *statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.conn.stillOpen(); err != nil {
		return nil, err
	}
	opened, err := s.sqliteStmt.QueryContext(ctx, args)
	if err != nil {
		return nil, s.conn.failed(err)
	}
	described, ok := opened.(sqliteRows)
	if !ok {
		opened.Close()
		return nil, lacking(opened)
	}
	return &rows{sqliteRows: described, statement: s}, nil
}

// rows gives its statement back when it is closed.
type rows struct {
	sqliteRows
	statement *statement
}

// sqliteRows is what rows of the driver can do.
type sqliteRows interface {
	driver.Rows
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeLength
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

func (r *rows) Close() error {
	err := r.sqliteRows.Close()
	r.statement.busy = false
	return r.statement.conn.failed(err)
}
