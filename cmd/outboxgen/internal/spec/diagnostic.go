package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity of a diagnostic.
type Severity int

// Errors stop the generator; warnings tell of what is legal and dangerous.
const (
	Error Severity = iota + 1
	Warning
)

// String is "error" or "warning".
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Diagnostic is one thing to say about a spec.
type Diagnostic struct {
	Pos      Pos
	Severity Severity
	Rule     string // the name of one of [DiagnosticRules]
	Message  string // one line, without a full stop
	Hint     string // what to do; "" when the message says it all
}

// String is "file:line:col: message (hint)"; a warning says so after the place.
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.Pos.String())
	b.WriteString(": ")
	if d.Severity == Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(d.Message)
	if d.Hint != "" {
		b.WriteString(" (")
		b.WriteString(d.Hint)
		b.WriteString(")")
	}
	return b.String()
}

// String is "file:line:col".
func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

// Compare orders positions by file, line and column.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// Diagnostics are sorted by place.
type Diagnostics []Diagnostic

// HasErrors reports whether one of them is an error.
func (ds Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}

// String has one line a diagnostic.
func (ds Diagnostics) String() string {
	var b strings.Builder
	for _, d := range ds {
		b.WriteString(d.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// sorted gives the diagnostics in the order in which they are shown: as the
// files were read, then by place; equal ones once.
func sorted(ds Diagnostics, files []string) Diagnostics {
	rank := make(map[string]int, len(files))
	for i, f := range files {
		rank[f] = i
	}
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(rank[a.Pos.File], rank[b.Pos.File]), a.Pos.Compare(b.Pos), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(ds)
}
