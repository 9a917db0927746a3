package spec

import (
	"fmt"
	"slices"
	"strings"
)

// check looks at the spec as a whole, once everything is read.
func (l *loader) check() {
	l.spec.Files = l.files
	l.checkNames()
	l.checkCycles()
	l.checkVersions()
	if !l.diagnostics.HasErrors() {
		l.checkUse()
	}
}

// checkNames declares every Go name of the generated package in its scope.
func (l *loader) checkNames() {
	pkg := newScope(packageNames, "declared by the generated package itself")
	for _, d := range l.spec.Destinations {
		what := fmt.Sprintf("destination %q", d.Name)
		for _, name := range []string{d.OptionName(), d.HandlerName(), d.ReceiverName(), d.NewReceiverName()} {
			if !pkg.declare(&l.reader, name, what, d.Pos) {
				break
			}
		}
	}
	for _, t := range l.spec.Types {
		what := fmt.Sprintf("type %q", t.Name)
		if pkg.declare(&l.reader, t.GoName, what, t.Pos) {
			l.declareValues(pkg, t.Enum, what)
		}
		l.checkFieldNames(pkg, t.Fields, what)
	}
	methods := newScope(nil, "")
	for _, e := range l.spec.Events {
		what := fmt.Sprintf("event %q", e.Key())
		if pkg.declare(&l.reader, e.GoName, what, e.Pos) {
			methods.declare(&l.reader, e.InsertName(), what, e.Pos)
			methods.declare(&l.reader, e.InsertBatchName(), what, e.Pos)
		}
		l.checkFieldNames(pkg, e.Fields, what)
	}
	l.nameFiles()
}

func (l *loader) checkFieldNames(pkg *scope, fields []*Field, owner string) {
	members := newScope(structMethods, "a method of the generated struct")
	for _, f := range fields {
		what := fmt.Sprintf("field %q", f.Name)
		members.declare(&l.reader, f.GoName, what, f.Pos)
		if e := f.Type.inlineEnum(); e != nil {
			what := fmt.Sprintf("the enum of field %q of %s", f.Name, owner)
			if pkg.declare(&l.reader, e.GoName, what, f.Pos) {
				l.declareValues(pkg, e.Values, what)
			}
		}
	}
}

func (l *loader) declareValues(pkg *scope, values []*EnumValue, owner string) {
	for _, v := range values {
		pkg.declare(&l.reader, v.GoName, fmt.Sprintf("value %q of %s", v.Value, owner), v.Pos)
	}
}

// inlineEnum is the enum that stands in the type, at whatever depth.
func (t *TypeRef) inlineEnum() *Enum {
	for t != nil {
		switch {
		case t.Enum != nil:
			return t.Enum
		case t.List != nil:
			t = t.List.Type
		case t.Map != nil:
			t = t.Map.Type
		default:
			return nil
		}
	}
	return nil
}

// Key is what the spec calls the event: order.created, or order.created@1 for
// an older version.
func (e *Event) Key() string {
	if e.Current {
		return e.Name
	}
	return fmt.Sprintf("%s@%d", e.Name, e.Version)
}

// checkCycles refuses a struct that holds itself by value: no value of it
// could be finite.
func (l *loader) checkCycles() {
	const (
		onPath = iota + 1
		done
	)
	state := map[*Type]int{}
	var path []*Type
	var visit func(t *Type)
	visit = func(t *Type) {
		state[t] = onPath
		path = append(path, t)
		for _, f := range t.Fields {
			if f.Type == nil || f.Type.Named == nil || f.Optional || f.Nullable {
				continue
			}
			switch next := f.Type.Named; state[next] {
			case 0:
				visit(next)
			case onPath:
				names := []string{}
				for _, t := range path[slices.Index(path, next):] {
					names = append(names, t.Name)
				}
				l.errorf(f.Pos, ruleCycle, "make one field of it optional, nullable or a list", "type %q holds itself: %s", next.Name, strings.Join(append(names, next.Name), " → "))
			}
		}
		path = path[:len(path)-1]
		state[t] = done
	}
	for _, t := range l.spec.Types {
		if state[t] == 0 {
			visit(t)
		}
	}
}

// checkVersions looks at the versions of one event together.
func (l *loader) checkVersions() {
	current := map[string]*Event{}
	for _, e := range l.spec.Events {
		if e.Current {
			current[e.Name] = e
		}
	}
	for _, e := range l.spec.Events {
		if e.Current {
			continue
		}
		switch c := current[e.Name]; {
		case c == nil:
			l.errorf(e.Pos, ruleNoCurrentVersion, fmt.Sprintf("call the newest version %s, with version: %d", e.Name, e.Version), "event %q stands beside no %q", e.Key(), e.Name)
		case c.Version <= e.Version:
			l.errorf(e.Pos, ruleBadVersion, fmt.Sprintf("write version: %d", e.Version+1), "event %q is not older than %q in line %d, which has version %d", e.Key(), e.Name, c.Pos.Line, c.Version)
		case !sameIdempotency(c, e):
			l.warnf(e.Pos, ruleIdempotencyChanged, "", "event %q has another idempotency than %q: the same fact, inserted once in each version, is two events", e.Key(), e.Name)
		}
	}
}

func sameIdempotency(a, b *Event) bool {
	names := func(e *Event) []string {
		var out []string
		for _, f := range e.Idempotency.Fields {
			out = append(out, f.Name)
		}
		slices.Sort(out)
		return out
	}
	return a.Idempotency.Mode == b.Idempotency.Mode && slices.Equal(names(a), names(b))
}
