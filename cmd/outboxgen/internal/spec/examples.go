package spec

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gopkg.in/yaml.v3"
)

// pendingExamples are read when every type is known.
type pendingExamples struct {
	node   node
	what   string
	fields []*Field // an event's
	field  *Field   // or one field's
	to     *[]string
}

func (l *loader) fieldExamples(n node, what string, f *Field) {
	l.examples = append(l.examples, pendingExamples{node: n, what: what, field: f, to: &f.Examples})
}

func (l *loader) eventExamples(n node, what string, e *Event) {
	l.examples = append(l.examples, pendingExamples{node: n, what: what, fields: e.Fields, to: &e.Examples})
}

// readExamples writes every example as JSON of its type.
func (l *loader) readExamples() {
	for _, p := range l.examples {
		nodes, ok := l.list(p.node, p.what)
		if !ok {
			continue
		}
		for _, n := range nodes {
			w := exampleWriter{loader: l}
			if p.field != nil {
				ok = w.nullable(n, p.what, p.field.Nullable, p.field.Type, p.field.Rules, p.field.GoType)
			} else {
				ok = w.object(n, p.what, p.fields)
			}
			if ok {
				*p.to = append(*p.to, w.json.String())
			}
		}
	}
}

// exampleWriter turns a YAML value into JSON as its declared type spells it.
// Its methods report what does not fit and answer false.
type exampleWriter struct {
	*loader
	json strings.Builder
}

func (w *exampleWriter) refuse(n node, what, format string, args ...any) bool {
	w.errorf(n.pos(), ruleBadExample, "", "%s: %s", what, fmt.Sprintf(format, args...))
	return false
}

// is reports a value of another shape than its type's.
func (w *exampleWriter) is(n node, kind yaml.Kind, what string) bool {
	if n.Kind != kind {
		return w.refuse(n, what, "a %s, where a %s belongs", kindName(n), kindName(node{Node: &yaml.Node{Kind: kind}}))
	}
	return true
}

func (w *exampleWriter) object(n node, what string, fields []*Field) bool {
	if !w.is(n, yaml.MappingNode, what) {
		return false
	}
	entries, ok := w.entries(n, what)
	byName := make(map[string]*Field, len(fields))
	names := make([]string, len(fields))
	for i, f := range fields {
		byName[f.Name], names[i] = f, f.Name
	}
	w.json.WriteByte('{')
	seen := map[string]bool{}
	for i, e := range entries {
		f := byName[e.key.Value]
		if f == nil {
			w.errorf(e.key.pos(), ruleBadExample, w.didYouMean(e.key.Value, names), "%s: no field %q", what, e.key.Value)
			ok = false
			continue
		}
		seen[f.Name] = true
		if i > 0 {
			w.json.WriteByte(',')
		}
		w.text(f.Name)
		w.json.WriteByte(':')
		ok = w.nullable(e.value, what+"."+f.Name, f.Nullable, f.Type, f.Rules, f.GoType) && ok
	}
	w.json.WriteByte('}')
	for _, f := range fields {
		if !f.Optional && !seen[f.Name] {
			ok = w.refuse(n, what, "no value for field %q", f.Name)
		}
	}
	return ok
}

func (w *exampleWriter) nullable(n node, what string, nullable bool, t *TypeRef, rules Rules, own *GoType) bool {
	if t == nil || n.Kind == yaml.AliasNode {
		return false // reported
	}
	if n.isNull() && t.Scalar != JSON {
		if !nullable {
			return w.refuse(n, what, "null, and the field is not nullable")
		}
		w.json.WriteString("null")
		return true
	}
	switch {
	case t.Scalar == JSON:
		return w.anyJSON(n, what)
	case t.List != nil:
		return w.list(n, what, t.List, rules)
	case t.Map != nil:
		return w.mapOf(n, what, t.Map, rules)
	case t.Named != nil && len(t.Named.Enum) == 0:
		return w.object(n, what, t.Named.Fields)
	}
	if !w.is(n, yaml.ScalarNode, what) {
		return false
	}
	s := n.Value
	switch {
	case t.Enum != nil:
		return w.enumText(n, what, s, t.Enum.Values)
	case t.Named != nil:
		return w.enumText(n, what, s, t.Named.Enum)
	}
	if problem := checkScalar(t.Scalar, s, rules); problem != "" {
		return w.refuse(n, what, "%q %s", s, problem)
	}
	w.scalar(t.Scalar, s)
	return true
}

func (w *exampleWriter) list(n node, what string, of *Element, rules Rules) bool {
	if !w.is(n, yaml.SequenceNode, what) {
		return false
	}
	nodes, ok := w.loader.list(n, what)
	w.json.WriteByte('[')
	for i, n := range nodes {
		if i > 0 {
			w.json.WriteByte(',')
		}
		ok = w.nullable(n, fmt.Sprintf("%s[%d]", what, i), of.Nullable, of.Type, of.Rules, of.GoType) && ok
	}
	w.json.WriteByte(']')
	return w.count(n, what, len(nodes), rules) && ok
}

func (w *exampleWriter) mapOf(n node, what string, of *Element, rules Rules) bool {
	if !w.is(n, yaml.MappingNode, what) {
		return false
	}
	entries, ok := w.entries(n, what)
	w.json.WriteByte('{')
	for i, e := range entries {
		if i > 0 {
			w.json.WriteByte(',')
		}
		w.text(e.key.Value)
		w.json.WriteByte(':')
		ok = w.nullable(e.value, what+"."+e.key.Value, of.Nullable, of.Type, of.Rules, of.GoType) && ok
	}
	w.json.WriteByte('}')
	return w.count(n, what, len(entries), rules) && ok
}

func (w *exampleWriter) count(n node, what string, count int, rules Rules) bool {
	switch {
	case rules.MinItems != nil && count < *rules.MinItems:
		return w.refuse(n, what, "%d elements, fewer than %d", count, *rules.MinItems)
	case rules.MaxItems != nil && count > *rules.MaxItems:
		return w.refuse(n, what, "%d elements, more than %d", count, *rules.MaxItems)
	}
	return true
}

func (w *exampleWriter) enumText(n node, what, s string, values []*EnumValue) bool {
	if !slices.ContainsFunc(values, func(v *EnumValue) bool { return v.Value == s }) {
		return w.refuse(n, what, "%q is not one of the enum", s)
	}
	w.text(s)
	return true
}

func (w *exampleWriter) text(s string) {
	quoted, _ := json.Marshal(s) // a text from YAML is valid UTF-8
	w.json.Write(quoted)
}

// scalar writes a checked text in the one spelling of its type.
func (w *exampleWriter) scalar(t Scalar, s string) {
	switch t {
	case Bool, Int, Float:
		w.json.WriteString(s)
	case Timestamp:
		at, _ := time.Parse(time.RFC3339Nano, s) // checked
		w.text(at.UTC().Format(time.RFC3339Nano))
	case Duration:
		d, _ := time.ParseDuration(s) // checked
		w.text(d.String())
	case Decimal:
		w.text(canonicalDecimal(s))
	case UUID:
		w.text(strings.ToLower(s))
	default:
		w.text(s)
	}
}

// canonicalDecimal takes away the zeros that do not change a decimal's value.
func canonicalDecimal(s string) string {
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if whole == "" {
		whole = "0"
	}
	out := whole
	if fraction != "" {
		out += "." + fraction
	}
	if negative && out != "0" {
		out = "-" + out
	}
	return out
}

// checkScalar says what is wrong with a scalar's text, or nothing.
func checkScalar(t Scalar, s string, rules Rules) string {
	switch t {
	case String:
		return checkText(s, rules)
	case Bool:
		if s != "true" && s != "false" {
			return "is not true or false"
		}
		return ""
	case UUID:
		if _, err := uuid.Parse(s); err != nil || len(s) != 36 {
			return "is no UUID"
		}
		return ""
	case Bytes:
		decoded, err := base64.StdEncoding.Strict().DecodeString(s)
		if err != nil {
			return "is no base64 text"
		}
		return checkLength(len(decoded), rules)
	}
	v, err := parseScalar(t, s)
	if err != nil {
		return fmt.Sprintf("is no %s: %v", t, err)
	}
	if rules.Min != nil {
		if low, _ := parseScalar(t, *rules.Min); v.Cmp(low) < 0 {
			return "is below " + *rules.Min
		}
	}
	if rules.Max != nil {
		if high, _ := parseScalar(t, *rules.Max); v.Cmp(high) > 0 {
			return "is above " + *rules.Max
		}
	}
	return ""
}

func checkText(s string, rules Rules) string {
	if problem := checkLength(utf8.RuneCountInString(s), rules); problem != "" {
		return problem
	}
	if rules.Pattern != "" && !regexp.MustCompile(rules.Pattern).MatchString(s) { // compiled when read
		return "does not match " + rules.Pattern
	}
	if rules.Format != "" && !formats[rules.Format].Matches(s) {
		return "is no " + rules.Format
	}
	return ""
}

func checkLength(length int, rules Rules) string {
	switch {
	case rules.MinLength != nil && length < *rules.MinLength:
		return "is shorter than " + strconv.Itoa(*rules.MinLength)
	case rules.MaxLength != nil && length > *rules.MaxLength:
		return "is longer than " + strconv.Itoa(*rules.MaxLength)
	}
	return ""
}

// anyJSON writes a value of type json. Here a text without quotes is a number, a
// boolean or null where JSON has it so, and must be quoted where YAML reads a
// number that JSON does not have.
func (w *exampleWriter) anyJSON(n node, what string) bool {
	ok := true
	switch n.Kind {
	case yaml.MappingNode:
		entries, _ := w.entries(n, what)
		w.json.WriteByte('{')
		for i, e := range entries {
			if i > 0 {
				w.json.WriteByte(',')
			}
			w.text(e.key.Value)
			w.json.WriteByte(':')
			ok = w.anyJSON(e.value, what) && ok
		}
		w.json.WriteByte('}')
	case yaml.SequenceNode:
		w.json.WriteByte('[')
		for i := range n.Content {
			if i > 0 {
				w.json.WriteByte(',')
			}
			ok = w.anyJSON(n.child(i), what) && ok
		}
		w.json.WriteByte(']')
	case yaml.ScalarNode:
		switch n.Tag {
		case "!!null":
			w.json.WriteString("null")
		case "!!bool", "!!int", "!!float":
			if !json.Valid([]byte(n.Value)) {
				return w.refuse(n, what, "%s is no JSON; put it in quotes if it is a text", n.Value)
			}
			w.json.WriteString(n.Value)
		default:
			w.text(n.Value)
		}
	default:
		return false // an alias, reported
	}
	return ok
}
