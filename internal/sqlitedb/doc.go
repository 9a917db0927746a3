// Package sqlitedb is the Go that sqlc makes from schema/: one method a query,
// for any *sql.DB or *sql.Tx. Only runtime/sqlite uses it. Edit schema/queries
// and run `make generate`; this file alone is written by hand.
package sqlitedb
