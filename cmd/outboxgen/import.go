package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/importer"
	"github.com/spf13/cobra"
)

func newImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Write a spec from contracts that exist already",
		Long: `import writes a spec from JSON Schemas or AsyncAPI documents to standard output,
and to standard error a report of everything that could not be carried over, each
with its place. Nothing is fetched: name every file that another refers to.`,
		Example: `  outboxgen import jsonschema schemas/*.json --output events/events.yaml
  outboxgen import asyncapi asyncapi.yaml --package events`,
		Args: cobra.ArbitraryArgs,
		RunE: helpOrUnknown,
	}
	cmd.AddCommand(
		newImportOf("jsonschema", "Write a spec from JSON Schemas, one event a file", importer.JSONSchema),
		newImportOf("asyncapi", "Write a spec from an AsyncAPI document and what it refers to", importer.AsyncAPI),
	)
	return cmd
}

func newImportOf(name, short string, convert func([]importer.File, importer.Options) (importer.Result, error)) *cobra.Command {
	var (
		options importer.Options
		output  string
	)
	cmd := &cobra.Command{
		Use:   name + " FILE...",
		Short: short,
		Args:  positional(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			files := make([]importer.File, len(args))
			for i, path := range args {
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				files[i] = importer.File{Name: filepath.ToSlash(path), Text: text}
			}
			result, err := convert(files, options)
			if err != nil {
				return err
			}
			if err := writeImported(cmd, output, result.Spec); err != nil {
				return err
			}
			stderr := cmd.ErrOrStderr()
			if _, err := fmt.Fprintf(stderr, "%d events and %d types imported\n", result.Events, result.Types); err != nil {
				return err
			}
			for line := range strings.Lines(result.Report.String()) {
				if _, err := fmt.Fprintln(stderr, visible(strings.TrimSuffix(line, "\n"))); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the spec to this new file instead of standard output")
	cmd.Flags().StringVar(&options.Package, "package", "events", "the Go package to be generated")
	cmd.Flags().StringVar(&options.Source, "source", "", "who sends the events (default made of the contract's title)")
	return cmd
}

// writeImported never writes over a file: what an import made is meant to be
// edited.
func writeImported(cmd *cobra.Command, output string, text []byte) error {
	if output == "" {
		_, err := cmd.OutOrStdout().Write(text)
		return err
	}
	f, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: import never overwrites", output)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
