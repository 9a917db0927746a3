package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of outboxgen and of the Go that built it",
		Args:  positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			build, ok := debug.ReadBuildInfo()
			if !ok {
				return fmt.Errorf("this binary carries no build information")
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "outboxgen %s %s\n", moduleVersion(build), build.GoVersion)
			return err
		},
	}
}

// moduleVersion is the version of the module that holds the command: a tag or
// pseudo-version when it was built as a dependency or from a clean checkout.
func moduleVersion(build *debug.BuildInfo) string {
	if build.Main.Version == "" {
		return "(devel)"
	}
	return build.Main.Version
}
