package importer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// File is a contract's text under the name by which others refer to it.
type File struct {
	Name string
	Text []byte
}

// Options are what a contract does not say.
type Options struct {
	Package string // of the generated code; "": events
	Source  string // of the events; "": made of the contract's title
}

// Result is a spec and what it lacks.
type Result struct {
	Spec   []byte // YAML
	Events int
	Types  int
	Report Report
}

// conversion is one import under way.
type conversion struct {
	documents documents
	spec      *spec.Spec
	report    Report
	types     map[*node]*spec.Type // the struct or enum of a schema
	typeNames map[string]bool
	events    map[string]bool
	places    map[*spec.Type]*node
	merged    map[*node]*node // what allOf comes to
	open      map[*node]bool  // schemas under way that are no structs
}

func newConversion(files []File, o Options) (*conversion, []*node, error) {
	if len(files) == 0 {
		return nil, nil, errors.New("no file to import")
	}
	c := &conversion{
		documents: documents{},
		spec:      &spec.Spec{Package: o.Package, Source: o.Source},
		types:     map[*node]*spec.Type{},
		places:    map[*spec.Type]*node{},
		typeNames: map[string]bool{},
		events:    map[string]bool{},
		merged:    map[*node]*node{},
		open:      map[*node]bool{},
	}
	if c.spec.Package == "" {
		c.spec.Package = "events"
	}
	var roots []*node
	faults := []error{spec.CheckPackage(c.spec.Package)}
	if o.Source != "" {
		faults = append(faults, spec.CheckSource(o.Source))
	}
	for _, f := range files {
		root, err := parse(f.Name, f.Text)
		switch {
		case err != nil:
			faults = append(faults, err)
			continue
		case !root.is(object):
			faults = append(faults, fmt.Errorf("%s: the document is no object", f.Name))
			continue
		}
		c.documents.add(f.Name, root)
		roots = append(roots, root)
	}
	return c, roots, errors.Join(faults...)
}

// lose notes what is not carried over.
func (c *conversion) lose(at *node, kind Kind, format string, args ...any) {
	c.report = append(c.report, Loss{at.file, at.pointer, kind, fmt.Sprintf(format, args...)})
}

// finish names everything in Go and writes the spec, which must be one.
func (c *conversion) finish() (Result, error) {
	if len(c.spec.Events) == 0 {
		return Result{}, errors.New("no event was found in the contract")
	}
	if c.spec.Source == "" {
		c.spec.Source = "/" + slug(c.spec.Doc)
	}
	c.breakCycles()
	chosen := chooseGoNames(c.spec)
	out := writeSpec(c.spec, chosen)
	if _, diagnostics := spec.Load("events.yaml", func(string) ([]byte, error) { return out, nil }); diagnostics.HasErrors() {
		return Result{}, fmt.Errorf("the imported spec is not valid, which is a fault of the importer:\n%s", diagnostics)
	}
	return Result{out, len(c.spec.Events), len(c.spec.Types), c.report.tidied()}, nil
}

// slug makes the last part of a source of a title.
func slug(title string) string {
	title, _, _ = strings.Cut(title, "\n")
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() > 60 {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "imported"
}

// breakCycles makes one field of each ring of structs that hold each other by
// value optional: no such value could be finite.
func (c *conversion) breakCycles() {
	state := map[*spec.Type]int{}
	var visit func(t *spec.Type)
	visit = func(t *spec.Type) {
		state[t] = 1
		for _, f := range t.Fields {
			if f.Type.Named == nil || f.Optional || f.Nullable {
				continue
			}
			switch state[f.Type.Named] {
			case 0:
				visit(f.Type.Named)
			case 1:
				f.Optional = true
				c.lose(c.places[t], Loosened, "type %q holds itself: its field %q may be absent", t.Name, f.Name)
			}
		}
		state[t] = 2
	}
	for _, t := range c.spec.Types {
		if state[t] == 0 {
			visit(t)
		}
	}
}
