package emit

import "github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"

// cycles numbers the struct types that hold themselves, directly or through
// others: types of one cycle have one number. A type that is not in it holds
// only other types.
type cycles map[*spec.Type]int

// in reports that the type can hold a value of itself.
func (c cycles) in(t *spec.Type) bool { return t != nil && c[t] != 0 }

// together reports that each of the two can hold the other.
func (c cycles) together(a, b *spec.Type) bool { return c.in(a) && c[a] == c[b] }

// findCycles finds strongly connected components (Tarjan, 1972).
func findCycles(types []*spec.Type) cycles {
	f := cycleFinder{found: cycles{}, index: map[*spec.Type]int{}, low: map[*spec.Type]int{}, open: map[*spec.Type]bool{}}
	for _, t := range types {
		if f.index[t] == 0 {
			f.visit(t)
		}
	}
	return f.found
}

type cycleFinder struct {
	found      cycles
	index, low map[*spec.Type]int // from 1
	stack      []*spec.Type
	open       map[*spec.Type]bool // on the stack
}

func (f *cycleFinder) visit(t *spec.Type) {
	f.index[t] = len(f.index) + 1
	f.low[t] = f.index[t]
	f.stack = append(f.stack, t)
	f.open[t] = true
	holdsItself := false
	for _, field := range t.Fields {
		held := innermost(field.Type)
		if !isStruct(held) {
			continue
		}
		n := held.Named
		holdsItself = holdsItself || n == t
		if f.index[n] == 0 {
			f.visit(n)
			f.low[t] = min(f.low[t], f.low[n])
		} else if f.open[n] {
			f.low[t] = min(f.low[t], f.index[n])
		}
	}
	if f.low[t] == f.index[t] {
		f.close(t, holdsItself)
	}
}

// close takes the component that t is the root of off the stack.
func (f *cycleFinder) close(root *spec.Type, holdsItself bool) {
	from := len(f.stack) - 1
	for f.stack[from] != root {
		from--
	}
	component := f.stack[from:]
	for _, t := range component {
		f.open[t] = false
		if len(component) > 1 || holdsItself {
			f.found[t] = f.index[root]
		}
	}
	f.stack = f.stack[:from]
}
