// Package orderdb is the order service's own data: sqlc's Go for query.sql.
package orderdb

import _ "embed"

// Schema creates the tables where they are missing.
//
//go:embed schema.sql
var Schema string
