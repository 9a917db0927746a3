package main

import (
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/outboxgen/outboxgen/schema"
	"github.com/spf13/cobra"
)

func newSchema() *cobra.Command {
	var forSpec bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the SQL of the tables, or the JSON Schema of specs",
		Long: `schema prints the DDL of outboxgen's tables, for those who run migrations of
their own with goose, atlas or golang-migrate and open the store with
sqlite.Options{Migrations: sqlite.Check}. Otherwise sqlite.Open creates and
migrates them.

With --for-spec it prints the JSON Schema of events.yaml. Editors complete and
check a spec by it; init puts it beside the spec. After an upgrade of outboxgen:

  outboxgen schema --for-spec > events/events.schema.json`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := []byte(schema.DDL())
			if forSpec {
				text = spec.JSONSchema()
			}
			_, err := cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&forSpec, "for-spec", false, "print the JSON Schema of event specs instead")
	return cmd
}
