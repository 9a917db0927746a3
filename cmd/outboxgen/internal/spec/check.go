package spec

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
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

// checkNames reports every Go name that two things need, or that cannot be had.
func (l *loader) checkNames() {
	for _, c := range l.spec.clashes() {
		switch {
		case c.held == nil:
			l.errorf(c.pos, ruleLongGoName, "give it a shorter one with go_name", "%s makes a Go name of %d characters, more than %d", shorten(c.what, MaxGoName), utf8.RuneCountInString(c.name), MaxGoName)
		case c.held.pos.Line == 0:
			l.errorf(c.pos, ruleNameReserved, "give it another name with go_name", "%s needs the Go name %s, which is %s", c.what, c.name, c.held.what)
		default:
			l.errorf(c.pos, ruleNameCollision, "give one of them a go_name", "%s needs the Go name %s, which %s at %s has", c.what, c.name, c.held.what, c.held.pos)
		}
	}
	l.nameFiles()
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
