package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// scalars in the order in which the language's documentation lists them.
var scalars = []Scalar{String, Bool, Float, Int, Int64, Decimal, Timestamp, Date, Duration, UUID, Bytes, JSON}

// IsScalar reports the name of a scalar type.
func IsScalar(name string) bool { return slices.Contains(scalars, Scalar(name)) }

// foreign are the names that other languages have for our scalars.
var foreign = map[string]string{
	"integer": "int", "int32": "int", "uint": "int", "long": "int64", "bigint": "int64", "uint64": "int64",
	"number": "float", "double": "float", "float64": "float", "float32": "float", "numeric": "decimal", "money": "decimal",
	"boolean": "bool", "str": "string", "text": "string", "varchar": "string",
	"datetime": "timestamp", "date-time": "timestamp", "time": "timestamp", "timestamptz": "timestamp",
	"any": "json", "object": "json", "map": "{string: T}", "array": "[T]", "list": "[T]", "binary": "bytes", "blob": "bytes", "guid": "uuid",
}

// maxNesting bounds the lists and maps of one type.
const maxNesting = 100

// fields reads the members of an event or a struct type.
func (l *loader) fields(n node, what, owner string) []*Field {
	entries, ok := l.entries(n, what)
	if !ok {
		return nil
	}
	out := make([]*Field, 0, len(entries))
	for _, e := range entries {
		if f := l.field(e, owner); f != nil {
			out = append(out, f)
		}
	}
	return out
}

// field reads one member; owner is the Go name of what it belongs to.
func (l *loader) field(e entry, owner string) *Field {
	f := &Field{Name: e.key.Value, GoName: GoName(e.key.Value), Pos: e.key.pos()}
	what := fmt.Sprintf("field %q", shorten(f.Name, MaxGoName))
	if length := utf8.RuneCountInString(f.Name); length < 1 || length > maxFieldName {
		l.errorf(f.Pos, ruleBadFieldName, "", "a field's name has 1 to %d characters, this one has %d", maxFieldName, length)
		return nil
	}
	t := typeReader{loader: l, owner: owner, field: f}
	if m, ok, long := t.long(e.value, &fieldObject, what); long {
		if !ok {
			return f
		}
		l.describe(m, &f.Doc, &f.Deprecated)
		l.renameGo(m, &f.GoName)
		if n, ok := m.get("optional"); ok {
			f.Optional = l.boolean(n, m.in("optional"))
		}
		optional := t.body(m, &element{&f.Type, &f.Nullable, &f.GoType, &f.Rules}, 0)
		f.Optional = f.Optional || optional
		l.checkNullable(m.node, what, f.Type, f.Nullable)
		if n, ok := m.get("examples"); ok {
			l.fieldExamples(n, m.in("examples"), f)
		}
		return f
	}
	f.Type, f.Optional = t.expression(e.value, what, 0)
	return f
}

// maxFieldName bounds a field's name, in characters.
const maxFieldName = 255

// typeReader reads the type of one field; it knows how an enum that stands in
// it would be called.
type typeReader struct {
	*loader
	owner string
	field *Field
}

// element is where a type's parts go, in a field or in a list or map.
type element struct {
	t        **TypeRef
	nullable *bool
	goType   **GoType
	rules    *Rules
}

// long reads a mapping with known keys, as against {string: T}.
func (t *typeReader) long(n node, o *object, what string) (m mapping, ok, long bool) {
	if n.Kind != yaml.MappingNode || t.isMap(n) {
		return mapping{}, false, false
	}
	if hint := foreignType(n); hint != "" {
		t.errorf(n.pos(), ruleMissingKey, hint, "%s has no %q", what, "type")
		return mapping{}, false, true
	}
	m, ok = t.mapping(n, n.pos(), o, what)
	if !ok {
		return m, false, true
	}
	_, hasType := m.get("type")
	_, hasEnum := m.get("enum")
	switch {
	case hasType && hasEnum:
		t.errorf(m.at, ruleTypeAndEnum, "an enum's values are texts; leave type out", "%s has a type and an enum", what)
		return m, false, true
	case !hasType && !hasEnum:
		t.errorf(m.at, ruleMissingKey, "as in type: string", "%s has no %q", what, "type")
		return m, false, true
	}
	return m, true, true
}

// foreignType says what a mapping without a type may have meant, where its
// keys tell.
func foreignType(n node) (hint string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch key := n.Content[i].Value; {
		case key == "type" || key == "enum":
			return ""
		case key == "string":
			hint = "a map with more to say is {type: {string: T}, …}"
		case IsScalar(key):
			hint = "the keys of a map are texts: {string: T}"
		case key == "fields":
			hint = "name the struct under types, and use its name"
		}
	}
	return hint
}

// isMap reports a mapping that is a map's type: {string: T}.
func (t *typeReader) isMap(n node) bool {
	return n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Kind == yaml.ScalarNode && n.Content[0].Value == "string"
}

// body reads the keys that a field and an element share, and reports whether
// the type was written T?.
func (t *typeReader) body(m mapping, to *element, depth int) (marked bool) {
	if n, ok := m.get("nullable"); ok {
		*to.nullable = t.boolean(n, m.in("nullable"))
	}
	if n, ok := m.get("type"); ok {
		*to.t, marked = t.expression(n, m.what, depth)
	}
	if n, ok := m.get("enum"); ok {
		if e := t.enum(n, m.in("enum")); e != nil {
			*to.t = &TypeRef{Enum: e}
		}
	}
	if *to.t == nil {
		return marked
	}
	if n, ok := m.get("go_type"); ok {
		*to.goType = t.goType(n, m, *to.t)
	}
	*to.rules = t.rules(m, *to.t)
	return marked
}

// expression reads T, T?, [T] or {string: T}; marked reports a T?.
func (t *typeReader) expression(n node, what string, depth int) (ref *TypeRef, marked bool) {
	if depth > maxNesting {
		t.errorf(n.pos(), ruleTooDeep, "name a struct on the way", "%s has more than %d lists and maps in each other", what, maxNesting)
		return nil, false
	}
	switch {
	case n.Kind == yaml.SequenceNode:
		if len(n.Content) != 1 {
			t.errorf(n.pos(), ruleBadType, "a list is [T]", "%s: a list has one type of element, here are %d", what, len(n.Content))
			return nil, false
		}
		if e := t.element(n.child(0), within("element of ", what, depth), depth+1); e != nil {
			return &TypeRef{List: e}, false
		}
	case t.isMap(n):
		if e := t.element(n.child(1), within("value of ", what, depth), depth+1); e != nil {
			return &TypeRef{Map: e}, false
		}
	case n.Kind == yaml.MappingNode:
		if _, ok, _ := t.long(n, &elementObject, what); ok {
			t.errorf(n.pos(), ruleBadType, "write its keys beside type, not in it", "%s: type must be a name, [T] or {string: T}", what)
		}
	default:
		if n.isNull() {
			t.errorf(n.pos(), ruleMissingValue, "as in string", "%s has no type", what)
		} else if s, ok := t.filled(n, "type of "+what); ok {
			return t.named(n, s, what)
		}
	}
	return nil, false
}

// within says whose element it is; of elements of elements it names the field.
func within(relation, what string, depth int) string {
	if depth > 0 {
		return what
	}
	return relation + what
}

// element reads what a list or map holds; T? may be null there.
func (t *typeReader) element(n node, what string, depth int) *Element {
	e := &Element{}
	if n.Kind == yaml.MappingNode && hasKey(n, "optional") {
		t.errorf(n.pos(), ruleUnknownKey, "what may be null is nullable: true", "%s cannot be optional", what)
		return nil
	}
	if m, ok, long := t.long(n, &elementObject, what); long {
		if !ok {
			return nil
		}
		nullable := t.body(m, &element{&e.Type, &e.Nullable, &e.GoType, &e.Rules}, depth)
		e.Nullable = e.Nullable || nullable
	} else {
		e.Type, e.Nullable = t.expression(n, what, depth)
	}
	if e.Type == nil {
		return nil
	}
	t.checkNullable(n, what, e.Type, e.Nullable)
	return e
}

func (l *loader) checkNullable(n node, what string, ref *TypeRef, nullable bool) {
	if nullable && ref != nil && ref.Scalar == JSON {
		l.errorf(n.pos(), ruleNullableJSON, "write json alone", "%s: json is any value, null too", what)
	}
}

// named resolves the name of a scalar or a type, with or without a ?.
func (t *typeReader) named(n node, written, what string) (ref *TypeRef, marked bool) {
	name, marked := strings.CutSuffix(written, "?")
	if IsScalar(name) {
		return &TypeRef{Scalar: Scalar(name)}, marked
	}
	if named, ok := t.types[name]; ok {
		return &TypeRef{Named: named}, marked
	}
	hint := ""
	if ours, ok := foreign[strings.ToLower(name)]; ok {
		hint = "did you mean " + ours + "?"
	} else {
		known := make([]string, 0, len(scalars)+len(t.spec.Types))
		for _, s := range scalars {
			known = append(known, string(s))
		}
		for _, named := range t.spec.Types {
			known = append(known, named.Name)
		}
		hint = t.didYouMean(name, known)
	}
	t.errorf(n.pos(), ruleUnknownType, hint, "%s: unknown type %q", what, written)
	return nil, false
}

// enum reads the values of an enum that stands in a field.
func (t *typeReader) enum(n node, what string) *Enum {
	e := &Enum{GoName: t.owner + t.field.GoName}
	e.Values = t.enumValues(n, what, e.GoName)
	if len(e.Values) == 0 {
		return nil
	}
	return e
}

// enumValues reads texts as they are written; prefix begins their Go names.
func (l *loader) enumValues(n node, what, prefix string) []*EnumValue {
	nodes, ok := l.list(n, what)
	if !ok {
		return nil
	}
	if len(nodes) == 0 {
		l.errorf(n.pos(), ruleMissingValue, "", "%s is empty", what)
	}
	var out []*EnumValue
	seen := map[string]Pos{}
	for _, n := range nodes {
		v := l.enumValue(n, what, prefix)
		if v == nil {
			continue
		}
		if first, ok := seen[v.Value]; ok {
			l.errorf(v.Pos, ruleTwice, "", "%s has %q twice; the first is in line %d", what, v.Value, first.Line)
			continue
		}
		seen[v.Value] = v.Pos
		out = append(out, v)
	}
	return out
}

func (l *loader) enumValue(n node, what, prefix string) *EnumValue {
	v := &EnumValue{Pos: n.pos()}
	value, name := n, ""
	if n.Kind == yaml.MappingNode {
		m, ok := l.mapping(n, n.pos(), &enumValueObject, "a value of "+what)
		if !ok {
			return nil
		}
		if value, ok = m.get("value"); !ok {
			return nil
		}
		l.describe(m, &v.Doc, &v.Deprecated)
		l.renameGo(m, &name)
	}
	if value.isNull() {
		l.errorf(value.pos(), ruleNullInEnum, `the text is "null" in quotes; a value that may be null is nullable: true`, "%s has a null", what)
		return nil
	}
	s, ok := l.text(value, "a value of "+what)
	if !ok {
		return nil
	}
	v.Value = s
	if name == "" {
		name = EnumValueName(s)
	}
	v.GoName = prefix + name
	return v
}

var goTypeText = regexp.MustCompile(goTypePattern)

// goType reads the user's own Go type, import/path.Name.
func (l *loader) goType(n node, m mapping, ref *TypeRef) *GoType {
	s, ok := l.filled(n, m.in("go_type"))
	if !ok {
		return nil
	}
	parts := goTypeText.FindStringSubmatch(s)
	switch {
	case parts == nil:
		l.errorf(n.pos(), ruleBadGoType, "an import path and an exported name, as in example.org/shop/ship.Carrier", "%s: %q is no Go type", m.in("go_type"), s)
	case ref.Scalar == "":
		l.errorf(n.pos(), ruleBadGoType, "", "%s: only a scalar may have a Go type of your own", m.what)
	default:
		return &GoType{ImportPath: parts[1], Name: parts[2]}
	}
	return nil
}

// readTypes reads the bodies of the named types.
func (l *loader) readTypes() {
	for _, b := range l.typeBodies {
		m, ok := l.mapping(b.node, b.t.Pos, &typeObject, b.what)
		if !ok {
			continue
		}
		l.describe(m, &b.t.Doc, &b.t.Deprecated)
		l.renameGo(m, &b.t.GoName)
		fields, hasFields := m.get("fields")
		enum, hasEnum := m.get("enum")
		switch {
		case hasFields && hasEnum:
			l.errorf(m.at, ruleTypeAndEnum, "", "%s has fields and an enum", b.what)
		case hasFields:
			b.t.Fields = l.fields(fields, b.what, b.t.GoName)
		case hasEnum:
			b.t.Enum = l.enumValues(enum, b.what, b.t.GoName)
		default:
			l.errorf(m.at, ruleMissingKey, "a struct without fields is fields: {}", "%s has no %q and no %q", b.what, "fields", "enum")
		}
	}
}

func hasKey(n node, key string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}
