package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/scaffold"
	"github.com/spf13/cobra"
)

func newInit() *cobra.Command {
	var (
		dir     string
		example bool
	)
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Start: a spec, its generated package and, if wanted, a program",
		Long: `init writes a starter spec and a generate.go into events/ of a Go module, and
generates the package, so that it builds at once. It never overwrites a file.`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			module, err := scaffold.FindModule(cmd.Context(), dir)
			if errors.Is(err, scaffold.ErrNoModule) {
				return fmt.Errorf("%s is in no Go module; make one first:\n\n  go mod init example.org/shop\n\nthen run outboxgen init again", dir)
			}
			if err != nil {
				return err
			}
			kind := scaffold.Events
			if example {
				kind = scaffold.Example
			}
			files, err := scaffold.Files(module.ImportPath, kind)
			if err != nil {
				return err
			}
			if example {
				others, err := scaffold.OtherGoFiles(dir, files)
				if err != nil {
					return err
				}
				if len(others) > 0 {
					return fmt.Errorf("the example needs a folder without a program of its own, and there is already: %s", strings.Join(others, ", "))
				}
			}
			written, err := scaffold.Write(dir, files)
			if err != nil {
				return err
			}
			return sayNext(cmd.OutOrStdout(), dir, module, kind, written)
		},
	}
	cmd.Flags().StringVarP(&dir, "directory", "C", ".", "start there instead of in the current directory")
	cmd.Flags().BoolVar(&example, "example", false, "also write a main.go that sends an event and receives it")
	return cmd
}

// sayNext tells what was written and what the user does now.
func sayNext(w io.Writer, dir string, module scaffold.Module, kind scaffold.Kind, written []string) error {
	var b strings.Builder
	for _, name := range written {
		fmt.Fprintf(&b, "wrote %s\n", filepath.Join(dir, filepath.FromSlash(name)))
	}
	b.WriteString("\nNext:\n")
	step := func(command, why string) { fmt.Fprintf(&b, "  %-22s %s\n", command, why) }
	if dir != "." {
		step("cd "+dir, "")
	}
	if !module.HasTool {
		fmt.Fprintf(&b, "  go get -tool github.com/outboxgen/outboxgen/cmd/outboxgen@latest\n")
	}
	step("go mod tidy", "fetch what the generated code needs")
	if kind == scaffold.Example {
		step("go run .", "send an event and see it applied")
	}
	step("go generate ./...", "after each change of "+scaffold.Folder+"/events.yaml")
	_, err := io.WriteString(w, b.String())
	return err
}
