package emit

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/outboxgen/outboxgen/templates"
)

// page is what the template of the events' page asks for. Its texts are
// Markdown already.
type page struct {
	Marker, Source, Doc string
	Events              []pageEvent
	Types               []pageType
	Scalars             []pageRow
}

type pageEvent struct {
	Name, Anchor, To, Summary, Doc, Deprecated string
	Version                                    int
	Facts                                      []string
	Members                                    []pageMember
	Examples                                   []string
}

type pageType struct {
	Name, Doc, Deprecated string
	Members               []pageMember
	Values                []pageRow
}

type pageMember struct{ Name, Type, Case, Text string }

type pageRow struct{ Name, Text string }

// markdown makes the page of all events.
func (g *generator) markdown() File {
	p := page{Marker: marker, Source: prose(g.spec.Source), Doc: prose(g.spec.Doc), Scalars: scalarRows}
	a := anchors{}
	a.next("Events of " + g.spec.Source)
	for _, e := range g.spec.Events {
		p.Events = append(p.Events, g.pageEvent(e, a.next(fmt.Sprintf("%s, version %d", e.Name, e.Version))))
	}
	a.next("Types")
	links := map[*spec.Type]string{}
	for _, t := range g.spec.Types {
		links[t] = fmt.Sprintf("[%s](#%s)", prose(t.Name), a.next(t.Name))
	}
	for i, e := range g.spec.Events {
		p.Events[i].Members = pageMembers(e.Fields, links)
	}
	for _, t := range g.spec.Types {
		row := pageType{Name: prose(t.Name), Doc: prose(t.Doc), Deprecated: cell(t.Deprecated), Members: pageMembers(t.Fields, links)}
		for _, v := range t.Enum {
			row.Values = append(row.Values, pageRow{code(v.Value), cell(describe(v.Doc, &spec.TypeRef{}, spec.Rules{}, v.Deprecated))})
		}
		p.Types = append(p.Types, row)
	}
	content, err := templates.Execute(templates.Events, p)
	g.check(err)
	return File{g.spec.Outputs.Markdown, append(bytes.TrimSpace(content), '\n')}
}

func (g *generator) pageEvent(e *spec.Event, anchor string) pageEvent {
	summary, _, _ := strings.Cut(strings.TrimSpace(e.Doc), "\n")
	if e.Deprecated != "" {
		summary = strings.TrimSpace("Deprecated. " + summary)
	}
	p := pageEvent{
		Name: prose(e.Name), Anchor: anchor, To: destinations(e), Summary: cell(summary), Doc: prose(e.Doc), Deprecated: cell(e.Deprecated),
		Version: e.Version,
	}
	if p.To == "" {
		p.Facts = append(p.Facts, "It is only stored.")
	} else {
		p.Facts = append(p.Facts, "It goes to "+p.To+".")
	}
	if e.OrderingKey != nil {
		p.Facts = append(p.Facts, "Those with the same "+code(e.OrderingKey.Name)+" are delivered in order.")
	}
	p.Facts = append(p.Facts, sameness(e, func(f *spec.Field) string { return code(f.Name) }))
	for _, text := range e.Examples {
		tree, err := parseJSON(text)
		g.check(err)
		example, err := encodeJSON(tree)
		g.check(err)
		p.Examples = append(p.Examples, strings.TrimSpace(string(example)))
	}
	return p
}

func destinations(e *spec.Event) string {
	var names []string
	for _, r := range e.To {
		names = append(names, prose(r.Destination.Name))
	}
	return enumeration(names)
}

func pageMembers(fields []*spec.Field, links map[*spec.Type]string) []pageMember {
	var members []pageMember
	for _, f := range fields {
		var cases []string
		if f.Optional {
			cases = append(cases, "optional")
		}
		if f.Nullable {
			cases = append(cases, "may be null")
		}
		notes := append([]string{f.Doc}, elementNotes(f.Type, f.Rules)...)
		if f.Deprecated != "" {
			notes = append(notes, "Deprecated: "+f.Deprecated)
		}
		notes = slices.DeleteFunc(notes, func(s string) bool { return strings.TrimSpace(s) == "" })
		members = append(members, pageMember{code(f.Name), typeText(f.Type, links), strings.Join(cases, ", "), cell(strings.Join(notes, " "))})
	}
	return members
}

// elementNotes says the rules of a value and of what it holds.
func elementNotes(t *spec.TypeRef, r spec.Rules) []string {
	notes := ruleNotes(t, r)
	for t.List != nil || t.Map != nil {
		e := t.List
		if e == nil {
			e = t.Map
		}
		if inner := ruleNotes(e.Type, e.Rules); inner != nil {
			notes = append(append(notes, "Each:"), inner...)
		}
		t = e.Type
	}
	return notes
}

// typeText is a type in the words of a page.
func typeText(t *spec.TypeRef, links map[*spec.Type]string) string {
	element := func(e *spec.Element) string {
		if e.Nullable {
			return typeText(e.Type, links) + " or null"
		}
		return typeText(e.Type, links)
	}
	switch {
	case t.Named != nil:
		return links[t.Named]
	case t.Enum != nil:
		var values []string
		for _, v := range t.Enum.Values {
			values = append(values, code(v.Value))
		}
		return "one of " + strings.Join(values, ", ")
	case t.List != nil:
		return "list of " + element(t.List)
	case t.Map != nil:
		return "map of text to " + element(t.Map)
	}
	return string(t.Scalar)
}

var scalarRows = []pageRow{
	{"string, bool, float", "as in JSON"},
	{"int", "a number within ±(2^53−1)"},
	{"int64", "a string of decimal digits"},
	{"decimal", "a string, like `\"-12.5\"`"},
	{"timestamp", "RFC 3339 in UTC, like `\"2026-01-31T09:30:00Z\"`"},
	{"date", "like `\"2026-01-31\"`"},
	{"duration", "like `\"1h30m0s\"`"},
	{"uuid", "36 characters in small letters"},
	{"bytes", "base64 with padding"},
	{"json", "any value"},
}

// prose is a text that means the same on a page: no HTML, no control
// characters.
func prose(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(cleanText(s))
}

// cell is a text as one cell of a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(prose(s)), " "), "|", `\|`)
}

// code is a text in fixed width, in a cell or out of one.
func code(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.TrimSpace(s) != s || s == "" {
		s = strconv.Quote(s)
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		s = " " + s + " "
	}
	return fence + strings.ReplaceAll(s, "|", `\|`) + fence
}

// anchors gives headings the names that GitHub gives them.
type anchors map[string]int

func (a anchors) next(heading string) string {
	slug := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
	n := a[slug]
	a[slug]++
	if n > 0 {
		slug += "-" + strconv.Itoa(n)
	}
	return slug
}
