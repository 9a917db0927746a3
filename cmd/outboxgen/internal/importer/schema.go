package importer

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// value is what a schema comes to in the spec language.
type value struct {
	ref      *spec.TypeRef
	nullable bool
	rules    spec.Rules
}

func (v value) element() *spec.Element {
	return &spec.Element{Type: v.ref, Nullable: v.nullable && v.ref.Scalar != spec.JSON, Rules: v.rules}
}

func scalar(s spec.Scalar) value { return value{ref: &spec.TypeRef{Scalar: s}} }

// anything is what becomes of a schema that the language does not have.
func (c *conversion) anything(at *node, why string) value {
	c.lose(at, Untyped, "%s: it is json, any value", why)
	return scalar(spec.JSON)
}

// schema converts a schema; name is what an object or enum in it would be
// called.
func (c *conversion) schema(n *node, name string) value {
	switch {
	case n.is(boolean) && n.truth, n.is(object) && len(n.members) == 0:
		return scalar(spec.JSON)
	case n.is(boolean):
		return c.anything(n, "a value that nothing can be")
	case !n.is(object):
		return c.anything(n, "no schema")
	case n.get("$ref").is(text):
		return c.reference(n)
	}
	if t := c.known(n); t != nil {
		return value{ref: &spec.TypeRef{Named: t}}
	}
	if c.open[n] {
		return c.anything(n, "the schema holds itself and is no object")
	}
	c.open[n] = true
	defer delete(c.open, n)
	c.unknownKeywords(n)
	if n.get("allOf") != nil {
		return c.allOf(n, name)
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if n.get(key) != nil {
			return c.union(n, n.get(key), name)
		}
	}
	return c.plain(n, name)
}

// known is the type that the schema has become already, or is becoming.
func (c *conversion) known(n *node) *spec.Type {
	if t := c.types[n]; t != nil {
		return t
	}
	if m := c.merged[n]; m != nil {
		return c.types[m]
	}
	return nil
}

func (c *conversion) reference(n *node) value {
	target, name, ok := c.documents.target(n)
	if !ok {
		return c.anything(n, "the reference "+strconv.Quote(n.get("$ref").string())+" leads nowhere in the files given")
	}
	return c.schema(target, name)
}

// plain converts a schema without $ref, allOf, oneOf and anyOf.
func (c *conversion) plain(n *node, name string) value {
	if values := n.get("enum"); values.is(array) {
		return c.enum(n, values.items, name)
	}
	if constant := n.get("const"); constant != nil {
		return c.enum(n, []*node{constant}, name)
	}
	types, nullable := c.typesOf(n)
	var v value
	switch {
	case len(types) == 0 && nullable:
		return scalar(spec.JSON)
	case len(types) == 0:
		v = c.anything(n, "a value without a type")
	case len(types) == 2 && slices.Contains(types, "integer") && slices.Contains(types, "number"):
		v = c.number(n)
	case len(types) > 1:
		v = c.anything(n, "a value of type "+strings.Join(types, " or "))
	default:
		v = c.typed(n, types[0], name)
	}
	v.nullable = v.nullable || nullable
	return v
}

// typesOf are the types that a schema allows, without null, or those that its
// keywords speak of.
func (c *conversion) typesOf(n *node) (types []string, nullable bool) {
	add := func(t string) {
		if t == "null" {
			nullable = true
		} else if t != "" && !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	switch t := n.get("type"); {
	case t.is(text):
		add(t.text)
	case t.is(array):
		for _, item := range t.items {
			add(item.string())
		}
	case n.get("properties") != nil || n.get("additionalProperties") != nil || n.get("patternProperties") != nil || n.get("required") != nil:
		add("object")
	case n.get("items") != nil:
		add("array")
	case n.get("pattern") != nil || n.get("format") != nil || n.get("minLength") != nil || n.get("maxLength") != nil:
		add("string")
	}
	if n.get("nullable").is(boolean) && n.get("nullable").truth { // OpenAPI's way
		nullable = true
	}
	return types, nullable
}

func (c *conversion) typed(n *node, t, name string) value {
	switch t {
	case "string":
		return c.text(n)
	case "integer":
		return c.integer(n)
	case "number":
		return c.number(n)
	case "boolean":
		return scalar(spec.Bool)
	case "array":
		return c.list(n, name)
	case "object":
		return c.object(n, name)
	}
	return c.anything(n, "type "+strconv.Quote(t)+", which JSON Schema has not")
}

// formats of strings that are a type of their own, or a format of string.
var (
	formatTypes = map[string]spec.Scalar{"date-time": spec.Timestamp, "date": spec.Date, "uuid": spec.UUID, "byte": spec.Bytes}
	formatNames = map[string]string{"email": "email", "uri": "uri", "url": "uri", "hostname": "hostname", "ipv4": "ipv4", "ipv6": "ipv6"}
)

func (c *conversion) text(n *node) value {
	format := n.get("format").string()
	if n.get("contentEncoding").string() == "base64" {
		format = "byte"
	}
	if s, ok := formatTypes[format]; ok {
		for _, key := range []string{"pattern", "minLength", "maxLength"} {
			c.ignore(n, key, Loosened)
		}
		return scalar(s)
	}
	v := scalar(spec.String)
	v.rules.Format = formatNames[format]
	if format != "" && v.rules.Format == "" {
		c.lose(n.get("format"), Loosened, "format %q is not checked", format)
	}
	v.rules.MinLength, v.rules.MaxLength = c.count(n, "minLength"), c.count(n, "maxLength")
	if p := n.get("pattern"); p.is(text) && p.text != "" {
		if _, err := regexp.Compile(p.text); err != nil {
			c.lose(p, Loosened, "pattern %q is not RE2 and is not checked", p.text)
		} else {
			v.rules.Pattern = p.text
		}
	}
	return v
}

func (c *conversion) integer(n *node) value {
	v := scalar(spec.Int)
	v.rules.Min = c.bound(n, "minimum", spec.Int)
	v.rules.Max = c.bound(n, "maximum", spec.Int)
	if low := c.exclusive(n, "exclusiveMinimum", "minimum", 1); low != nil {
		v.rules.Min = low
	}
	if high := c.exclusive(n, "exclusiveMaximum", "maximum", -1); high != nil {
		v.rules.Max = high
	}
	c.ignore(n, "multipleOf", Loosened)
	if format := n.get("format"); format.string() == "int64" || format.string() == "uint64" {
		c.lose(format, Narrowed, "numbers beyond 2^53 are refused: no reader of JSON is sure to keep their digits")
	}
	return v
}

func (c *conversion) number(n *node) value {
	v := scalar(spec.Float)
	v.rules.Min = c.bound(n, "minimum", spec.Float)
	v.rules.Max = c.bound(n, "maximum", spec.Float)
	for _, key := range []string{"exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		c.ignore(n, key, Loosened)
	}
	return v
}

// bound is a limit as a value of the scalar; one that is none is lost.
func (c *conversion) bound(n *node, key string, s spec.Scalar) *string {
	limit := n.get(key)
	if limit == nil {
		return nil
	}
	if !limit.is(number) {
		c.lose(limit, Loosened, "%s is not checked: it is no number", key)
		return nil
	}
	text := limit.text
	if exact, ok := new(big.Rat).SetString(text); s == spec.Int && ok && len(text) < 40 && exact.IsInt() {
		text = exact.Num().String()
	}
	if !spec.IsValue(s, text) {
		c.lose(limit, Loosened, "%s %s is not checked: it is no %s", key, text, s)
		return nil
	}
	return &text
}

// exclusive turns an exclusive limit of an integer into an inclusive one. In
// draft 4 it is true beside the limit itself.
func (c *conversion) exclusive(n *node, key, limitKey string, step int64) *string {
	limit := n.get(key)
	if limit.is(boolean) {
		if !limit.truth {
			return nil
		}
		limit = n.get(limitKey)
	}
	if limit == nil {
		return nil
	}
	i, err := strconv.ParseInt(limit.text, 10, 64)
	if !limit.is(number) || err != nil {
		c.lose(n.get(key), Loosened, "%s is not checked: it is no whole number", key)
		return nil
	}
	text := strconv.FormatInt(i+step, 10)
	if !spec.IsValue(spec.Int, text) {
		c.lose(n.get(key), Loosened, "%s is not checked: it is out of range", key)
		return nil
	}
	return &text
}

func (c *conversion) count(n *node, key string) *int {
	limit := n.get(key)
	if limit == nil {
		return nil
	}
	i, err := strconv.Atoi(limit.text)
	if !limit.is(number) || err != nil || i < 0 || i > 1<<30 {
		c.lose(limit, Loosened, "%s is not checked: it is no length", key)
		return nil
	}
	return &i
}

// ignore notes a keyword that is not carried over.
func (c *conversion) ignore(n *node, key string, kind Kind) {
	k := n.get(key)
	if k == nil || k.is(boolean) && !k.truth {
		return
	}
	c.lose(k, kind, "%s is not checked", key)
}

func (c *conversion) list(n *node, name string) value {
	items := n.get("items")
	if items.is(array) || n.get("prefixItems") != nil {
		return c.anything(n, "a list whose places have types of their own")
	}
	element := scalar(spec.JSON)
	if items != nil {
		element = c.schema(items, name)
	}
	for _, key := range []string{"uniqueItems", "contains"} {
		c.ignore(n, key, Loosened)
	}
	return value{
		ref:   &spec.TypeRef{List: element.element()},
		rules: spec.Rules{MinItems: c.count(n, "minItems"), MaxItems: c.count(n, "maxItems")},
	}
}

// object converts an object: a struct when it has properties, else a map.
func (c *conversion) object(n *node, name string) value {
	if len(n.get("properties").orEmpty().members) > 0 || n.get("additionalProperties").is(boolean) && !n.get("additionalProperties").truth {
		if n.get("patternProperties") == nil {
			return value{ref: &spec.TypeRef{Named: c.structType(n, name)}}
		}
	}
	var of *node
	patterns, additional := n.get("patternProperties").orEmpty().members, n.get("additionalProperties")
	switch {
	case len(n.get("properties").orEmpty().members) > 0:
		return c.anything(n, "an object with named members and others by pattern")
	case len(patterns) == 1 && (additional == nil || additional.is(boolean) && !additional.truth):
		of = patterns[0].value
		c.lose(n.get("patternProperties"), Loosened, "the members' names are not checked against %q", patterns[0].name)
	case len(patterns) > 0:
		return c.anything(n, "an object with members by several patterns")
	case additional.is(object):
		of = additional
	default:
		return c.anything(n, "an object whose members have no names")
	}
	c.ignore(n, "propertyNames", Loosened)
	return value{
		ref:   &spec.TypeRef{Map: c.schema(of, name).element()},
		rules: spec.Rules{MinItems: c.count(n, "minProperties"), MaxItems: c.count(n, "maxProperties")},
	}
}

func (n *node) orEmpty() *node {
	if n == nil {
		return &node{}
	}
	return n
}

// structType is the named type of an object, the same one wherever it is used.
func (c *conversion) structType(n *node, name string) *spec.Type {
	if t, ok := c.types[n]; ok {
		return t
	}
	t := &spec.Type{Name: c.typeName(name), Doc: docOf(n), Fields: []*spec.Field{}}
	t.Deprecated = deprecated(n)
	c.types[n], c.places[t] = t, n
	c.spec.Types = append(c.spec.Types, t)
	t.Fields = c.fields(n, t.Name)
	return t
}

// fields are the members of an object; owner begins the names of types that
// stand in them.
func (c *conversion) fields(n *node, owner string) []*spec.Field {
	c.extraMembers(n)
	needed := map[string]bool{}
	for _, item := range n.get("required").orEmpty().items {
		needed[item.string()] = true
	}
	fields := []*spec.Field{}
	for _, m := range n.get("properties").orEmpty().members {
		if length := len([]rune(m.name)); length < 1 || length > 255 {
			c.lose(m.value, Skipped, "a member whose name has %d characters is left out", length)
			delete(needed, m.name)
			continue
		}
		v := c.schema(m.value, owner+"."+m.name)
		f := &spec.Field{Name: m.name, Doc: docOf(m.value), Deprecated: deprecated(m.value), Type: v.ref, Rules: v.rules}
		f.Nullable = v.nullable && v.ref.Scalar != spec.JSON
		f.Optional = !needed[m.name]
		delete(needed, m.name)
		fields = append(fields, f)
	}
	for _, item := range n.get("required").orEmpty().items {
		if needed[item.string()] {
			delete(needed, item.string())
			fields = append(fields, &spec.Field{Name: item.text, Type: &spec.TypeRef{Scalar: spec.JSON}})
			c.lose(item, Untyped, "member %q is required and has no schema: it is json, any value", item.text)
		}
	}
	return fields
}

// extraMembers notes what an object may have beside its named members: the
// generated types pass it by.
func (c *conversion) extraMembers(n *node) {
	for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
		if extra := n.get(key); extra.is(object) || extra.is(boolean) && extra.truth {
			c.lose(extra, Narrowed, "members that are not named are read and not kept")
		}
	}
	c.ignore(n, "minProperties", Loosened)
	c.ignore(n, "maxProperties", Loosened)
	c.ignore(n, "propertyNames", Loosened)
}

// unknownKeywords notes what a schema says and the language does not.
func (c *conversion) unknownKeywords(n *node) {
	for _, key := range []string{"not", "if", "dependencies", "dependentRequired", "dependentSchemas"} {
		c.ignore(n, key, Loosened)
	}
	if d := n.get("default"); d != nil {
		c.lose(d, Unattached, "a default is for readers of the contract to apply: it is left out")
	}
	if d := n.get("discriminator"); d != nil {
		c.lose(d, Unattached, "the discriminator is left out")
	}
}

// docOf is what a schema says to people.
func docOf(n *node) string {
	for _, key := range []string{"description", "title", "summary"} {
		if s := strings.TrimSpace(n.get(key).string()); s != "" {
			return s
		}
	}
	return ""
}

func deprecated(n *node) string {
	if d := n.get("deprecated"); d.is(boolean) && d.truth {
		return "deprecated in the contract that was imported"
	}
	return ""
}

var notInTypeName = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// typeName makes the name of a type of a schema's, one that no other has.
func (c *conversion) typeName(name string) string {
	name = strings.Trim(notInTypeName.ReplaceAllString(name, "."), ".")
	if name == "" || (name[0] < 'A' || name[0] > 'Z') && (name[0] < 'a' || name[0] > 'z') || spec.IsScalar(name) {
		name = "T." + name
	}
	unique := name
	for i := 2; c.typeNames[unique]; i++ {
		unique = name + "." + strconv.Itoa(i)
	}
	c.typeNames[unique] = true
	return unique
}
