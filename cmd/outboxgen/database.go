package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/outboxgen/outboxgen/runtime/sqlite"
	"github.com/spf13/cobra"
)

// databaseFlag names the database file that a command works on.
type databaseFlag struct{ path string }

func (f *databaseFlag) register(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&f.path, "db", "", "the database file (required)")
}

// with opens the database for fn. Nothing is created or migrated: a tool
// must not change what the program that owns the file did not ask for.
func (f *databaseFlag) with(cmd *cobra.Command, fn func(ctx context.Context, store *sqlite.Store) error) error {
	if f.path == "" {
		return &usageError{cmd.CommandPath(), errors.New("--db is missing: name the database file")}
	}
	if _, err := os.Stat(f.path); err != nil {
		return err
	}
	store, err := sqlite.Open(cmd.Context(), f.path, sqlite.Options{Migrations: sqlite.Check})
	if err != nil {
		return err
	}
	return errors.Join(fn(cmd.Context(), store), store.Close())
}

// listFormat is how rows are written; it is a flag's value.
type listFormat string

const (
	listText listFormat = "text" // a table for people
	listJSON listFormat = "json" // an object a line
)

func (f *listFormat) register(cmd *cobra.Command) {
	*f = listText
	cmd.Flags().Var(f, "format", "how to write the rows: text, json")
}

func (f *listFormat) String() string { return string(*f) }
func (f *listFormat) Type() string   { return "format" }

func (f *listFormat) Set(s string) error {
	if s != string(listText) && s != string(listJSON) {
		return errors.New("want text or json")
	}
	*f = listFormat(s)
	return nil
}

// table writes rows under a header, in columns; cells are made safe for a
// terminal.
func table(w io.Writer, header []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = visible(cell)
		}
		if _, err := fmt.Fprintln(t, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

// jsonLine writes v as one line in which also the characters that JSON lets
// through and a terminal does not show are escaped.
func jsonLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, r := range string(line) {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	_, err = fmt.Fprintln(w, b.String())
	return err
}

// instant is how times are shown: to the second, in UTC.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }
