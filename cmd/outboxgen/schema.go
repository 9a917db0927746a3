package main

import (
	"io"

	"github.com/outboxgen/outboxgen/schema"
	"github.com/spf13/cobra"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the SQL of the tables",
		Long: `schema prints the DDL of outboxgen's tables, for those who run migrations of
their own with goose, atlas or golang-migrate and open the store with
sqlite.Options{Migrations: …}. Otherwise sqlite.Open creates and migrates them.`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), schema.DDL())
			return err
		},
	}
}
