package importer

import (
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// chooseGoNames gives everything a Go name of its own. What is called by its
// wire name is left so; the rest, by what it names, is in the answer: of an
// enum's value, what ends its constant.
func chooseGoNames(s *spec.Spec) map[any]string {
	chosen := map[any]string{}
	tries := map[any]int{}
	for {
		assignGoNames(s, chosen)
		clashes := spec.Clashes(s)
		if len(clashes) == 0 {
			return chosen
		}
		for _, subject := range clashes {
			tries[subject]++
			chosen[subject] = numbered(ownName(subject), tries[subject]+1)
		}
	}
}

// ownName is what the thing is called by its wire name.
func ownName(subject any) string {
	switch x := subject.(type) {
	case *spec.Type:
		return spec.GoName(x.Name)
	case *spec.Event:
		return spec.GoName(x.Name)
	case *spec.Field:
		return spec.GoName(x.Name)
	case *spec.EnumValue:
		return spec.GoName(x.Value) // with a capital: it becomes a go_name
	}
	return "Name"
}

// numbered adds a number, and cuts a name that is too long to be one.
func numbered(name string, n int) string {
	const room = 50 // of spec.MaxGoName: two such names may be joined
	if rs := []rune(name); len(rs) > room {
		name = string(rs[:room])
	}
	if last, _ := utf8.DecodeLastRuneInString(name); unicode.IsDigit(last) {
		name += "_"
	}
	return name + strconv.Itoa(n)
}

// assignGoNames sets the Go names of the whole spec: those that were chosen,
// and the others as spec.Load would.
func assignGoNames(s *spec.Spec, chosen map[any]string) {
	pick := func(subject any, usual string) string {
		if name, ok := chosen[subject]; ok {
			return name
		}
		return usual
	}
	values := func(values []*spec.EnumValue, prefix string) {
		for _, v := range values {
			v.GoName = prefix + pick(v, spec.EnumValueName(v.Value))
		}
	}
	fields := func(fields []*spec.Field, owner string) {
		for _, f := range fields {
			f.GoName = pick(f, spec.GoName(f.Name))
			if e := f.Type.InlineEnum(); e != nil {
				e.GoName = owner + f.GoName
				values(e.Values, e.GoName)
			}
		}
	}
	for _, t := range s.Types {
		t.GoName = pick(t, spec.GoName(t.Name))
		values(t.Enum, t.GoName)
		fields(t.Fields, t.GoName)
	}
	for _, e := range s.Events {
		e.GoName = pick(e, spec.GoName(e.Name))
		fields(e.Fields, e.GoName)
	}
}
