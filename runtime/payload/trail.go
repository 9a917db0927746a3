package payload

import (
	"errors"
	"fmt"

	"github.com/outboxgen/outboxgen/runtime/canonical"
)

// maxViolations bounds how many faults one error lists.
const maxViolations = 100

// trail knows where in a value the work is, and collects what is wrong there.
type trail struct {
	steps   []step
	faults  []error
	dropped int
}

// step is the place within one open object or array.
type step struct {
	kind  stepKind
	name  string // a member's `"name":` as it is written, or a map's key
	index int
	keys  int // how many keys of a Writer were in use when it was opened
}

type stepKind uint8

const (
	nowhere stepKind = iota
	atEncodedName
	atName
	atIndex
)

// at moves to another place in the innermost open object or array.
func (t *trail) at(kind stepKind, name string, index int) {
	top := &t.steps[len(t.steps)-1]
	top.kind, top.name, top.index = kind, name, index
}

func (t *trail) open(keys int) { t.steps = append(t.steps, step{keys: keys}) }

func (t *trail) close() step {
	last := len(t.steps) - 1
	s := t.steps[last]
	t.steps[last] = step{} // a Writer is used again: keep nothing of this value
	t.steps = t.steps[:last]
	return s
}

// fail records err as a fault of the value at the current place.
func (t *trail) fail(err error) {
	if len(t.faults) == maxViolations {
		t.dropped++
		return
	}
	for i := len(t.steps) - 1; i >= 0; i-- {
		switch s := t.steps[i]; s.kind {
		case atEncodedName:
			name, _ := canonical.ParseString([]byte(s.name[:len(s.name)-1]))
			err = canonical.Field(name, err)
		case atName:
			err = canonical.Field(s.name, err)
		case atIndex:
			err = canonical.Index(s.index, err)
		}
	}
	t.faults = append(t.faults, err)
}

func (t *trail) failf(format string, args ...any) { t.fail(fmt.Errorf(format, args...)) }

// err is every fault, one a line.
func (t *trail) err() error {
	if t.dropped > 0 {
		return errors.Join(append(t.faults, fmt.Errorf("and %d more", t.dropped))...)
	}
	return errors.Join(t.faults...)
}
