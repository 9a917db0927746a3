package spec

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// Load reads a spec and what it includes. name is the spec's slash path as
// messages show it, and read gives the text of it and of its includes, whose
// names are relative to the spec's folder and joined to it.
//
// The diagnostics hold every fault that was found; when one of them is an
// error, the spec is nil.
func Load(name string, read func(name string) ([]byte, error)) (*Spec, Diagnostics) {
	l := &loader{
		read:         read,
		spec:         &Spec{Retention: outbox.DefaultRetention},
		destinations: map[string]*Destination{},
		types:        map[string]*Type{},
		events:       map[string]*Event{},
	}
	l.load(name)
	if l.diagnostics.HasErrors() {
		return nil, sorted(l.diagnostics, l.files)
	}
	return l.spec, sorted(l.diagnostics, l.files)
}

// loader works in two passes: first every file is read and every type and
// event gets its name, then what they hold is read, and names resolve whatever
// the order.
type loader struct {
	reader
	read         func(string) ([]byte, error)
	spec         *Spec
	files        []string // as messages show them
	defaults     eventDefaults
	destinations map[string]*Destination
	types        map[string]*Type
	events       map[string]*Event // by the key in the spec: order.created@1
	typeBodies   []typeBody
	eventBodies  []eventBody
	examples     []pendingExamples
}

// eventDefaults are the values of the defaults mapping.
type eventDefaults struct {
	to          []*Destination
	hasTo       bool
	idempotency *idempotencyChoice // nil: each event must choose
	ignore      bool
	hold        bool
}

func (l *loader) load(name string) {
	root, ok := l.open(name, Pos{name, 1, 1})
	if !ok {
		return
	}
	m, ok := l.mapping(root, root.pos(), &specObject, "the spec")
	if !ok {
		return
	}
	l.header(m)
	if n, ok := m.get("destinations"); ok {
		l.readDestinations(n)
	}
	if n, ok := m.get("defaults"); ok {
		l.readDefaults(n)
	}
	l.declare(m)
	if n, ok := m.get("include"); ok {
		l.include(n, path.Dir(name))
	}
	if len(l.eventBodies) == 0 && !l.diagnostics.HasErrors() {
		l.errorf(root.pos(), ruleNoEvents, "begin with events: {order.created: {to: [], fields: {}}}", "the spec has no events")
	}
	l.readTypes()
	l.readEvents()
	l.readExamples()
	l.check()
}

// open reads and parses one file; at is where a fault of reading is reported.
func (l *loader) open(name string, at Pos) (node, bool) {
	text, err := l.read(name)
	if err != nil {
		l.errorf(at, ruleUnreadable, "", "cannot read %q: %v", name, err)
		return node{}, false
	}
	l.files = append(l.files, name)
	return l.parse(name, text)
}

// header reads what stands once in a spec.
func (l *loader) header(m mapping) {
	l.languageVersion(m)
	if n, ok := m.get("package"); ok {
		l.packageName(n)
	}
	if n, ok := m.get("source"); ok {
		l.source(n)
	}
	if n, ok := m.get("doc"); ok {
		l.spec.Doc, _ = l.text(n, m.in("doc"))
	}
	if n, ok := m.get("outputs"); ok {
		l.outputs(n)
	}
}

func (l *loader) languageVersion(m mapping) {
	n, ok := m.get("version")
	if !ok {
		return
	}
	if s, ok := l.text(n, m.in("version")); ok && (s != "1" || n.Style != 0) {
		l.errorf(n.pos(), ruleBadVersion, "write version: 1", "version of the spec language is %s; this outboxgen knows 1", quoted(n))
	}
}

func (l *loader) packageName(n node) {
	s, ok := l.filled(n, "package")
	if !ok {
		return
	}
	if err := CheckPackage(s); err != nil {
		l.errorf(n.pos(), ruleBadPackage, "letters and digits, as in events", "%v", err)
		return
	}
	l.spec.Package = s
}

// CheckPackage says why a text cannot be the name of the generated package.
func CheckPackage(name string) error {
	switch {
	case !packageName.MatchString(name) || slices.Contains(goKeywords, name) || name == "_":
		return fmt.Errorf("package %q cannot be the name of a Go package", name)
	case name == "documentation" || strings.HasSuffix(name, "_test"):
		return fmt.Errorf("package %q is ignored by the go command when it builds", name)
	}
	return nil
}

func (l *loader) source(n node) {
	s, ok := l.filled(n, "source")
	if !ok {
		return
	}
	if err := CheckSource(s); err != nil {
		l.errorf(n.pos(), ruleBadSource, "as in /services/orders", "%v", err)
		return
	}
	l.spec.Source = s
}

// CheckSource says why a text cannot be the source of events.
func CheckSource(source string) error {
	if _, err := url.Parse(source); err != nil || !sourceText.MatchString(source) {
		return fmt.Errorf("source %q is not a URI reference in visible ASCII", source)
	}
	return nil
}

func visibleASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func (l *loader) readDefaults(n node) {
	m, ok := l.mapping(n, n.pos(), &defaultsObject, "defaults")
	if !ok {
		return
	}
	d := &l.defaults
	if v, ok := m.get("to"); ok {
		d.to, d.hasTo = l.to(v), true
	}
	if v, ok := m.get("idempotency"); ok {
		d.idempotency = l.idempotencyChoice(v, nil)
	}
	d.ignore = l.onDuplicate(m, false)
	d.hold = l.onDeadLetter(m, false)
	if v, ok := m.get("retention"); ok {
		if d, ok := l.duration(v, "retention", time.Second); ok {
			l.spec.Retention = d
		}
	}
}

func (l *loader) outputs(n node) {
	m, ok := l.mapping(n, n.pos(), &outputsObject, "outputs")
	if !ok {
		return
	}
	seen := map[string]string{}
	for _, o := range []struct {
		key string
		to  *string
	}{{"json_schema", &l.spec.Outputs.JSONSchema}, {"asyncapi", &l.spec.Outputs.AsyncAPI}, {"markdown", &l.spec.Outputs.Markdown}} {
		v, ok := m.get(o.key)
		if !ok {
			continue
		}
		s, ok := l.filled(v, m.in(o.key))
		if !ok || !l.localPath(v, s, m.in(o.key)) {
			continue
		}
		if other, taken := seen[path.Clean(s)]; taken {
			l.errorf(v.pos(), ruleBadPath, "", "%s is %q, which is %s too", m.in(o.key), s, other)
		}
		seen[path.Clean(s)] = o.key
		*o.to = path.Clean(s)
	}
}

// localPath accepts a slash path below the spec's folder that means the same
// on every system and is no Go file.
func (l *loader) localPath(n node, s, what string) bool {
	switch {
	case strings.ContainsAny(s, `\:*?"<>|`) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }):
		l.errorf(n.pos(), ruleBadPath, "", "%s is %q, which is no path on every system", what, s)
	case path.IsAbs(s) || path.Clean(s) == "." || path.Clean(s) == ".." || strings.HasPrefix(path.Clean(s), "../"):
		l.errorf(n.pos(), ruleBadPath, "", "%s is %q, which is not below the spec's folder", what, s)
	case strings.HasSuffix(s, ".go"):
		l.errorf(n.pos(), ruleBadPath, "", "%s is %q, a Go file", what, s)
	default:
		return true
	}
	return false
}

// declare notes the types and events of one file; their bodies are read later.
func (l *loader) declare(m mapping) {
	if n, ok := m.get("types"); ok {
		if entries, ok := l.entries(n, "types"); ok {
			for _, e := range entries {
				l.declareType(e)
			}
		}
	}
	if n, ok := m.get("events"); ok {
		if entries, ok := l.entries(n, "events"); ok {
			for _, e := range entries {
				l.declareEvent(e)
			}
		}
	}
}

// include reads the included files, which include nothing themselves.
func (l *loader) include(n node, folder string) {
	names, ok := l.list(n, "include")
	if !ok {
		return
	}
	seen := l.files
	for _, n := range names {
		s, ok := l.filled(n, "a file of include")
		if !ok {
			continue
		}
		if path.IsAbs(s) || strings.ContainsAny(s, `\:*?`) {
			l.errorf(n.pos(), ruleBadPath, "a slash path relative to this file, as in shipping.yaml", "include %q is not such a path", s)
			continue
		}
		name := path.Join(folder, s)
		if slices.Contains(seen, name) {
			l.errorf(n.pos(), ruleIncludeTwice, "", "%q is read already", name)
			continue
		}
		seen = append(seen, name)
		root, ok := l.open(name, n.pos())
		if !ok {
			continue
		}
		if m, ok := l.mapping(root, root.pos(), &includeObject, "the included file"); ok {
			l.languageVersion(m)
			l.declare(m)
		}
	}
}

var (
	packageName = regexp.MustCompile(packagePattern)
	sourceText  = regexp.MustCompile(sourcePattern)
	typeName    = regexp.MustCompile(typeNamePattern)
	eventKey    = regexp.MustCompile(`^(` + eventNamePattern + `)(?:@([1-9][0-9]{0,5}))?$`)
)

type typeBody struct {
	t    *Type
	node node
	what string
}

func (l *loader) declareType(e entry) {
	name := e.key.Value
	what := fmt.Sprintf("type %q", name)
	if !typeName.MatchString(name) || IsScalar(name) {
		l.errorf(e.key.pos(), ruleBadTypeName, "a letter, then letters, digits and _ . -, as in LineItem", "%s cannot be the name of a type", quoted(e.key))
		return
	}
	if other, taken := l.types[name]; taken {
		l.errorf(e.key.pos(), ruleDuplicateName, "", "%s stands in %s already", what, other.Pos)
		return
	}
	t := &Type{Name: name, GoName: GoName(name), Pos: e.key.pos()}
	l.types[name] = t
	l.spec.Types = append(l.spec.Types, t)
	l.typeBodies = append(l.typeBodies, typeBody{t, e.value, what})
}

type eventBody struct {
	e    *Event
	node node
	what string
	old  bool // the key has an @N
}

func (l *loader) declareEvent(e entry) {
	key := e.key.Value
	what := fmt.Sprintf("event %q", key)
	parts := eventKey.FindStringSubmatch(key)
	if parts == nil {
		l.errorf(e.key.pos(), ruleBadEventName, "visible ASCII without space, quote, %, comma and backslash, as in order.created; an older version is order.created@1", "%s cannot be the type of an event", quoted(e.key))
		return
	}
	if other, taken := l.events[key]; taken {
		l.errorf(e.key.pos(), ruleDuplicateName, "", "%s stands in %s already", what, other.Pos)
		return
	}
	event := &Event{Name: parts[1], Version: 1, GoName: GoName(parts[1]), Pos: e.key.pos(), Current: parts[2] == ""}
	if !event.Current {
		event.Version, _ = strconv.Atoi(parts[2]) // at most six digits
		event.GoName += "V" + parts[2]
	}
	l.events[key] = event
	l.spec.Events = append(l.spec.Events, event)
	l.eventBodies = append(l.eventBodies, eventBody{event, e.value, what, !event.Current})
}
