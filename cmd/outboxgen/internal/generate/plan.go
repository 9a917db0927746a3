package generate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit"
)

// marker stands near the top of every file that is ours to overwrite and to
// remove: the Go files' header without its comment sign, which other kinds of
// file write in their own way.
var marker = []byte(strings.TrimPrefix(emit.Header, "// "))

// markerWithin is how many bytes of a file are searched for the marker.
const markerWithin = 1024

// State says how a file differs from what it should be.
type State string

const (
	Missing State = "missing"
	Changed State = "changed"
	Stale   State = "stale" // ours, and no longer made from the spec
)

// Change is a file that Write would touch.
type Change struct {
	// Name is the slash path relative to the spec's folder.
	Name  string
	State State

	content []byte
}

// Plan is what has to change in a folder. Files that are as they should be
// are not in it, so they keep their modification time.
type Plan struct {
	Changes []Change // sorted by name

	dir string
}

// Compare plans how dir, the spec's folder, comes in line with files. A file
// that stands in the way and is not ours is an error.
func Compare(dir string, files []emit.File) (Plan, error) {
	plan := Plan{dir: dir}
	wanted := make(map[string]bool, len(files))
	folders := map[string]bool{".": true}
	for _, f := range files {
		wanted[f.Name] = true
		folders[slashDir(f.Name)] = true
		current, err := os.ReadFile(plan.path(f.Name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			plan.Changes = append(plan.Changes, Change{f.Name, Missing, f.Content})
		case err != nil:
			return Plan{}, err
		case bytes.Equal(current, f.Content):
		case !isOurs(current):
			return Plan{}, fmt.Errorf("%s is in the way: it was not written by outboxgen; move it or remove it", plan.path(f.Name))
		default:
			plan.Changes = append(plan.Changes, Change{f.Name, Changed, f.Content})
		}
	}
	for folder := range folders {
		stale, err := plan.staleIn(folder, wanted)
		if err != nil {
			return Plan{}, err
		}
		plan.Changes = append(plan.Changes, stale...)
	}
	slices.SortFunc(plan.Changes, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return plan, nil
}

// staleIn finds the files of a folder that an earlier spec made and this one
// does not.
func (p Plan) staleIn(folder string, wanted map[string]bool) ([]Change, error) {
	entries, err := os.ReadDir(p.path(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var stale []Change
	for _, entry := range entries {
		name := entry.Name()
		if folder != "." {
			name = folder + "/" + name
		}
		if wanted[name] || !entry.Type().IsRegular() || !generatedName(name) {
			continue
		}
		head, err := readHead(p.path(name))
		if err != nil {
			return nil, err
		}
		if isOurs(head) {
			stale = append(stale, Change{Name: name, State: Stale})
		}
	}
	return stale, nil
}

// generatedName limits the search to names that the generator gives, so that
// a file which only quotes the marker is never taken for ours.
func generatedName(name string) bool {
	return strings.HasSuffix(name, ".gen.go") || strings.HasSuffix(name, ".schema.json")
}

func isOurs(content []byte) bool {
	return bytes.Contains(content[:min(len(content), markerWithin)], marker)
}

func readHead(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, markerWithin))
}

// Path is where a change is made, for a reader in the current directory.
func (p Plan) Path(c Change) string { return p.path(c.Name) }

func (p Plan) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func slashDir(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return "."
}
