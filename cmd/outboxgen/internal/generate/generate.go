// Package generate turns a spec into files, and brings a folder in line with
// them.
//
// Files is the pure core: what it needs is handed to it and what it makes is
// returned. Compare looks at a folder, and Plan.Write is the one place that
// writes: either every file of the plan or, when one cannot be written, none.
package generate

import (
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// Files reads the spec called name, and what it includes, through read and
// makes its files. There are none when the diagnostics hold an error.
func Files(name string, read func(name string) ([]byte, error)) ([]emit.File, spec.Diagnostics, error) {
	s, diagnostics := spec.Load(name, read)
	if diagnostics.HasErrors() {
		return nil, diagnostics, nil
	}
	files, err := emit.Files(s)
	return files, diagnostics, err
}
