// Package schema is the SQL that the SQLite store stands on: numbered
// migrations, and beside them the queries from which sqlc makes
// internal/sqlitedb.
//
// runtime/sqlite applies the migrations when it opens a database. Who runs
// migrations with a tool of their own gives it the text of DDL (that is what
// `outboxgen schema` prints) and opens the store with migrations off; each
// migration records its number in the table outbox_schema, so that both ways
// can follow each other.
//
// Migrations that have been released are never edited: a change is a new file.
package schema

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var files embed.FS

// Migration is one numbered step. It is to be applied in a transaction, after
// all lower ones, once; its last statement records Version in outbox_schema.
type Migration struct {
	Version int    // from 1, without gaps
	Name    string // of the file, without its number
	SQL     string
}

// Migrations returns all migrations in order.
func Migrations() []Migration {
	entries, err := files.ReadDir("migrations") // sorted by name
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	migrations := make([]Migration, 0, len(entries))
	for _, e := range entries {
		m, err := read(e.Name())
		if err != nil {
			panic(err) // a misnamed file in the binary; schema's test reads them all
		}
		migrations = append(migrations, m)
	}
	return migrations
}

// Version is the number of the last migration: what a database must have for
// this version of the runtime.
func Version() int {
	all := Migrations()
	return all[len(all)-1].Version
}

// DDL returns the whole schema as one SQL script for a database that has none
// of it, ready to become a migration of goose, atlas, golang-migrate or another
// tool.
func DDL() string {
	var b strings.Builder
	for i, m := range Migrations() {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(m.SQL)
	}
	return b.String()
}

func read(name string) (Migration, error) {
	number, rest, ok := strings.Cut(strings.TrimSuffix(name, ".sql"), "_")
	version, err := strconv.Atoi(number)
	if !ok || err != nil {
		return Migration{}, fmt.Errorf("schema: migrations/%s: the name is not NNNN_name.sql", name)
	}
	text, err := files.ReadFile("migrations/" + name)
	if err != nil {
		return Migration{}, err
	}
	return Migration{Version: version, Name: rest, SQL: string(text)}, nil
}
