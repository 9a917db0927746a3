package emit

import (
	"fmt"
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// fieldDoc is what a field's comment says: the spec's words, its rules, and
// what nil means.
func fieldDoc(f *spec.Field) []string {
	notes := ruleNotes(f.Type, f.Rules)
	if !obvious(f) {
		notes = append(notes, fmt.Sprintf("On the wire it is %q.", f.Name))
	}
	if n := absenceNote(f); n != "" {
		notes = append(notes, n)
	}
	text := sentence(f.Doc)
	if len(notes) > 0 {
		text = strings.TrimSpace(text + separator(text) + strings.Join(notes, " "))
	}
	return comment(text, deprecation(f.Deprecated))
}

// separator joins the spec's words and our notes: in one paragraph while the
// words are one line.
func separator(text string) string {
	if strings.ContainsAny(text, "\n\r") {
		return "\n\n"
	}
	return " "
}

// obvious reports a wire name that a reader of the Go name would guess.
func obvious(f *spec.Field) bool {
	bare := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	return bare(f.Name) == bare(f.GoName)
}

func absenceNote(f *spec.Field) string {
	switch {
	case f.Optional && f.Nullable:
		return "Optional, and may be null."
	case f.Optional:
		return "Optional: nil leaves it out."
	case f.Nullable:
		return "May be null: nil."
	}
	return ""
}

// ruleNotes says a field's rules in words.
func ruleNotes(t *spec.TypeRef, r spec.Rules) []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	bounds := func(atLeast, atMost, noun string) {
		counted := func(n string) string {
			switch {
			case noun == "":
				return n
			case n == "1":
				return n + " " + noun
			}
			return n + " " + noun + "s"
		}
		switch {
		case atLeast != "" && atLeast == atMost:
			add("Exactly %s.", counted(atLeast))
		case atLeast != "" && atMost != "":
			add("From %s to %s.", atLeast, counted(atMost))
		case atLeast != "":
			add("At least %s.", counted(atLeast))
		case atMost != "":
			add("At most %s.", counted(atMost))
		}
	}
	bounds(textOf(r.Min), textOf(r.Max), "")
	unit := "character"
	if t.Scalar == spec.Bytes {
		unit = "byte"
	}
	bounds(numberOf(r.MinLength), numberOf(r.MaxLength), unit)
	bounds(numberOf(r.MinItems), numberOf(r.MaxItems), "item")
	if r.Pattern != "" {
		add("It matches /%s/.", r.Pattern)
	}
	if words := formatWords[r.Format]; words != "" {
		add("It is %s.", words)
	}
	return notes
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func numberOf(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// formats are the formats of the language, as package payload calls them.
var formats = map[string]string{"email": "Email", "uri": "URI", "hostname": "Hostname", "ipv4": "IPv4", "ipv6": "IPv6"}

var formatWords = map[string]string{
	"email": "an email address", "uri": "an absolute URI", "hostname": "a host name",
	"ipv4": "an IPv4 address", "ipv6": "an IPv6 address",
}
