package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/spf13/cobra"
)

// diagnosticFormat is how diagnostics are written; it is a flag's value.
type diagnosticFormat string

const (
	formatText   diagnosticFormat = "text"   // for people: file:line:col: message
	formatJSON   diagnosticFormat = "json"   // for programs: an object a line
	formatGitHub diagnosticFormat = "github" // for GitHub Actions: workflow commands
)

var diagnosticFormats = []string{string(formatText), string(formatJSON), string(formatGitHub)}

func (f *diagnosticFormat) register(cmd *cobra.Command) {
	*f = formatText
	cmd.Flags().Var(f, "format", "how to write diagnostics: "+strings.Join(diagnosticFormats, ", "))
}

func (f *diagnosticFormat) String() string { return string(*f) }
func (f *diagnosticFormat) Type() string   { return "format" }

func (f *diagnosticFormat) Set(s string) error {
	if !slices.Contains(diagnosticFormats, s) {
		return fmt.Errorf("want %s", strings.Join(diagnosticFormats, ", "))
	}
	*f = diagnosticFormat(s)
	return nil
}

// report writes diagnostics of a spec.
func report(cmd *cobra.Command, format diagnosticFormat, source specSource, diagnostics spec.Diagnostics) error {
	write := writeText(nil)
	out := cmd.ErrOrStderr()
	switch {
	case format == formatJSON:
		write, out = writeJSON, cmd.OutOrStdout()
	case format == formatGitHub:
		write, out = writeGitHub, cmd.OutOrStdout()
	case isTerminal(out):
		write = writeText(source.read)
	}
	for _, d := range diagnostics {
		file := d.Pos.File
		if !path.IsAbs(file) {
			file = filepath.ToSlash(source.folder) + file
		}
		if err := write(out, path.Clean(file), d); err != nil {
			return err
		}
	}
	return nil
}

// isTerminal says whether a person reads w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	stat, err := f.Stat()
	return err == nil && stat.Mode()&os.ModeCharDevice != 0
}

// writeText writes file:line:col: message (hint) [rule] and, where read is
// given, the line of the source with a caret.
func writeText(read func(name string) ([]byte, error)) func(io.Writer, string, spec.Diagnostic) error {
	sources := make(map[string][]string)
	return func(w io.Writer, file string, d spec.Diagnostic) error {
		var b strings.Builder
		placed := d
		placed.Pos.File = filepath.FromSlash(file)
		b.WriteString(visible(placed.String()))
		if d.Rule != "" {
			fmt.Fprintf(&b, " [%s]", d.Rule)
		}
		b.WriteByte('\n')
		if read != nil {
			lines, ok := sources[d.Pos.File]
			if !ok {
				text, _ := read(d.Pos.File) // a file that cannot be read has no line to show
				lines = strings.Split(string(text), "\n")
				sources[d.Pos.File] = lines
			}
			if d.Pos.Line >= 1 && d.Pos.Line <= len(lines) {
				b.WriteString(excerpt(lines[d.Pos.Line-1], d.Pos.Line, d.Pos.Col))
			}
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// Code points shown of a long line, before and behind the caret.
const (
	excerptBefore = 60
	excerptBehind = 60
)

// excerpt is a source line with a caret under its column, which counts code
// points from 1.
func excerpt(line string, number, column int) string {
	runes := []rune(strings.TrimSuffix(line, "\r"))
	caret := min(max(column-1, 0), len(runes))
	start, end := max(caret-excerptBefore, 0), min(caret+excerptBehind, len(runes))
	before, behind := visible(string(runes[start:caret])), visible(string(runes[caret:end]))
	if start > 0 {
		before = "…" + before
	}
	if end < len(runes) {
		behind += "…"
	}
	margin := fmt.Sprintf("%5d | ", number)
	indent := strings.Repeat(" ", len([]rune(before)))
	return fmt.Sprintf("%s%s%s\n%s| %s^\n", margin, before, behind, strings.Repeat(" ", len(margin)-2), indent)
}

func writeJSON(w io.Writer, file string, d spec.Diagnostic) error {
	return json.NewEncoder(w).Encode(struct {
		File     string `json:"file"`
		Line     int    `json:"line"`
		Column   int    `json:"column"`
		Severity string `json:"severity"`
		Rule     string `json:"rule,omitempty"`
		Message  string `json:"message"`
		Hint     string `json:"hint,omitempty"`
	}{file, d.Pos.Line, d.Pos.Col, d.Severity.String(), d.Rule, d.Message, d.Hint})
}

// writeGitHub writes a workflow command, which GitHub shows at the line in
// the pull request.
func writeGitHub(w io.Writer, file string, d spec.Diagnostic) error {
	message := d.Message
	if d.Hint != "" {
		message += " (" + d.Hint + ")"
	}
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	_, err := fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n",
		d.Severity.String(), property.Replace(file), d.Pos.Line, d.Pos.Col, property.Replace("outboxgen "+d.Rule), data.Replace(message))
	return err
}
