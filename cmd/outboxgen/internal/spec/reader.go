package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// reader gathers diagnostics while it takes nodes apart. Its methods report
// what is wrong and answer false; an alias, already reported, is passed by in
// silence.
type reader struct {
	diagnostics Diagnostics
	suggestions int
}

func (r *reader) errorf(pos Pos, rule, hint, format string, args ...any) {
	r.say(Diagnostic{pos, Error, rule, fmt.Sprintf(format, args...), hint})
}

func (r *reader) warnf(pos Pos, rule, hint, format string, args ...any) {
	r.say(Diagnostic{pos, Warning, rule, fmt.Sprintf(format, args...), hint})
}

func (r *reader) say(d Diagnostic) {
	const longest = 600 // characters: a text from the spec may have any length
	d.Message, d.Hint = shorten(d.Message, longest), shorten(d.Hint, longest)
	r.diagnostics = append(r.diagnostics, d)
}

// didYouMean is the hint of that name, for as many faults as a person reads:
// a large spec has many names, and each is compared with all others.
func (r *reader) didYouMean(got string, candidates []string) string {
	const most = 200
	if r.suggestions++; r.suggestions > most {
		return ""
	}
	return didYouMean(got, candidates)
}

// entry is one key of a mapping with its value.
type entry struct{ key, value node }

// entries are a mapping's keys in the order of the file. Keys that are
// reported already (merge keys, duplicates, keys that are no text) are left out.
func (r *reader) entries(n node, what string) ([]entry, bool) {
	if !r.shape(n, yaml.MappingNode, what, "a mapping") {
		return nil, false
	}
	seen := make(map[string]bool, len(n.Content)/2)
	out := make([]entry, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.child(i)
		if key.Kind != yaml.ScalarNode || isMergeKey(key) || seen[key.Value] {
			continue
		}
		seen[key.Value] = true
		out = append(out, entry{key, n.child(i + 1)})
	}
	return out, true
}

// mapping is a value with known keys.
type mapping struct {
	node
	at      Pos
	what    string // how messages call it
	entries map[string]entry
}

// mapping reads a value whose keys the object's table lists; at is where what
// is missing from it is reported.
func (r *reader) mapping(n node, at Pos, o *object, what string) (mapping, bool) {
	m := mapping{node: n, at: at, what: what, entries: map[string]entry{}}
	entries, ok := r.entries(n, what)
	if !ok {
		return m, false
	}
	for _, e := range entries {
		if o.has(e.key.Value) {
			m.entries[e.key.Value] = e
			continue
		}
		r.errorf(e.key.pos(), ruleUnknownKey, r.didYouMean(e.key.Value, o.names()), "unknown key %q in %s", e.key.Value, what)
	}
	for _, k := range o.keys {
		if _, ok := m.entries[k.name]; k.required && !ok {
			r.errorf(at, ruleMissingKey, strings.TrimSuffix(k.doc, "."), "%s has no %q", what, k.name)
		}
	}
	return m, true
}

// get gives the value of a key that is there.
func (m mapping) get(key string) (node, bool) {
	e, ok := m.entries[key]
	return e.value, ok
}

// in names a key of the mapping in a message.
func (m mapping) in(key string) string { return key + " of " + m.what }

// shape reports a value that is not of the kind.
func (r *reader) shape(n node, kind yaml.Kind, what, want string) bool {
	switch {
	case n.Kind == kind:
		return true
	case n.Kind == yaml.AliasNode:
	case n.isNull():
		r.errorf(n.pos(), ruleMissingValue, "", "%s has no value; it needs %s", what, want)
	default:
		hint := ""
		if kind == yaml.SequenceNode && n.Kind == yaml.ScalarNode {
			hint = fmt.Sprintf("did you mean [%s]?", n.Value)
		}
		r.errorf(n.pos(), ruleWrongShape, hint, "%s must be %s, this is a %s", what, want, kindName(n))
	}
	return false
}

// list gives the elements of a list.
func (r *reader) list(n node, what string) ([]node, bool) {
	if !r.shape(n, yaml.SequenceNode, what, "a list") {
		return nil, false
	}
	out := make([]node, len(n.Content))
	for i := range out {
		out[i] = n.child(i)
	}
	return out, true
}

// text gives a value as it is written: 0755 and NO are texts too.
func (r *reader) text(n node, what string) (string, bool) {
	if n.isNull() || n.Kind != yaml.ScalarNode {
		r.shape(n, 0, what, "a text")
		return "", false
	}
	return n.Value, true
}

// filled is a text that is not blank.
func (r *reader) filled(n node, what string) (string, bool) {
	s, ok := r.text(n, what)
	if ok && strings.TrimSpace(s) == "" {
		r.errorf(n.pos(), ruleMissingValue, "", "%s is empty", what)
		return "", false
	}
	return s, ok
}

// word is one of a few texts.
func (r *reader) word(n node, what string, words ...string) (string, bool) {
	s, ok := r.text(n, what)
	if ok && !slices.Contains(words, s) {
		r.errorf(n.pos(), ruleBadWord, nearest(s, words), "%s is %q, not one of %s", what, s, strings.Join(words, ", "))
		return "", false
	}
	return s, ok
}

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,17})$`)

// integer is a whole decimal number, without quotes, between low and high.
func (r *reader) integer(n node, what string, low, high int) (int, bool) {
	s, ok := r.text(n, what)
	if !ok {
		return 0, false
	}
	if n.Style != 0 || !wholeNumber.MatchString(s) {
		r.errorf(n.pos(), ruleBadNumber, "", "%s is %s, not a whole number", what, quoted(n))
		return 0, false
	}
	i, err := strconv.Atoi(s)
	if err != nil || i < low || i > high {
		r.errorf(n.pos(), ruleBadNumber, "", "%s is %s, not between %d and %d", what, s, low, high)
		return 0, false
	}
	return i, true
}

// boolean is true or false, without quotes.
func (r *reader) boolean(n node, what string) bool {
	s, ok := r.text(n, what)
	if ok && (n.Style != 0 || s != "true" && s != "false") {
		r.errorf(n.pos(), ruleBadBoolean, "", "%s is %s, not true or false", what, quoted(n))
	}
	return s == "true"
}

// maxDuration bounds every duration of a spec: a hundred years.
const maxDuration = 100 * 365 * 24 * time.Hour

var days = regexp.MustCompile(`^([0-9]{1,5})d$`)

// duration is Go's text of a duration, from low on.
func (r *reader) duration(n node, what string, low time.Duration) (time.Duration, bool) {
	s, ok := r.text(n, what)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		hint := "as in 500ms, 10s, 168h"
		if m := days.FindStringSubmatch(s); m != nil {
			count, _ := strconv.Atoi(m[1]) // at most five digits
			hint = fmt.Sprintf("did you mean %dh?", count*24)
		} else if wholeNumber.MatchString(s) {
			hint = fmt.Sprintf("did you mean %ss?", s)
		}
		r.errorf(n.pos(), ruleBadDuration, hint, "%s is %q, not a duration", what, s)
		return 0, false
	case d < low || d > maxDuration:
		r.errorf(n.pos(), ruleBadDuration, "", "%s is %s, not between %s and %s", what, s, low, maxDuration)
		return 0, false
	}
	return d, true
}

// quoted shows a scalar as it is written, in quotes where it has them.
func quoted(n node) string {
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		return strconv.Quote(n.Value) + " in quotes"
	}
	return strconv.Quote(n.Value)
}
