// Package billingdb is billing's own data: sqlc's Go for query.sql.
package billingdb

import _ "embed"

// Schema creates the tables where they are missing.
//
//go:embed schema.sql
var Schema string
