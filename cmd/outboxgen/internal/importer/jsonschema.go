package importer

import (
	"path"
	"regexp"
	"strings"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// JSONSchema imports JSON Schemas, draft 4 to 2020-12. A file is an event,
// called after the file; or, when its root is a choice of schemas, each of these
// is, and when it only has definitions, each object among them that no other
// refers to. A choice among the choices is taken apart in the same way.
func JSONSchema(files []File, o Options) (Result, error) {
	c, roots, err := newConversion(files, o)
	if err != nil {
		return Result{}, err
	}
	if len(roots) == 1 && !c.isEvent(roots[0]) {
		c.spec.Doc = docOf(roots[0])
	}
	shared := c.shared(roots)
	for _, root := range roots {
		if shared[root] && len(shared) < len(roots) {
			c.lose(root, Unattached, "another file refers to this one: it is taken for types, not for events")
			continue
		}
		c.eventsOf(root)
	}
	if c.spec.Source == "" && len(files) == 1 {
		c.spec.Source = "/" + slug(baseName(files[0].Name))
	}
	return c.finish()
}

// isEvent reports a file whose root is itself a payload.
func (c *conversion) isEvent(root *node) bool {
	types, _ := c.typesOf(root)
	return len(types) > 0 || alternatives(root) != nil || root.get("allOf") != nil || root.get("$ref").is(text)
}

// shared are the files that others refer to.
func (c *conversion) shared(roots []*node) map[*node]bool {
	out := map[*node]bool{}
	for _, root := range roots {
		root.each(func(n *node) {
			if target := c.documents.find(n, n.get("$ref").string()); target != nil && target.file != root.file {
				out[c.documents[path.Clean(target.file)]] = true
			}
		})
	}
	return out
}

func (c *conversion) eventsOf(root *node) {
	if choices := namedAlternatives(root); choices != nil {
		c.choices(choices, map[*node]bool{root: true})
		return
	}
	if c.isEvent(root) {
		c.addEvent(root, baseName(root.file), docOf(root))
		return
	}
	for _, key := range []string{"definitions", "$defs"} {
		definitions := root.get(key).orEmpty()
		used := c.referred(definitions)
		for _, m := range definitions.members {
			if !used[m.value] && namedAlternatives(m.value) == nil {
				c.addEvent(m.value, m.name, docOf(m.value))
			}
		}
	}
}

// alternatives are the choices of a schema that is nothing but a choice.
func alternatives(n *node) *node {
	for _, key := range []string{"oneOf", "anyOf"} {
		if n.get(key).is(array) && n.get("properties") == nil {
			return n.get(key)
		}
	}
	return nil
}

// namedAlternatives are alternatives that all have a name of their own: each
// is an event. Others are the forms that one event has.
func namedAlternatives(n *node) *node {
	list := alternatives(n)
	for _, a := range list.orEmpty().items {
		if !a.get("$ref").is(text) {
			return nil
		}
	}
	return list
}

func (c *conversion) choices(list *node, seen map[*node]bool) {
	for _, choice := range list.items {
		target, name, ok := c.documents.target(choice)
		switch {
		case !ok:
			c.lose(choice, Skipped, "the reference %q leads nowhere in the files given: its event is left out", choice.get("$ref").string())
		case seen[target]:
		case namedAlternatives(target) != nil:
			seen[target] = true
			c.choices(namedAlternatives(target), seen)
		default:
			seen[target] = true
			if name == "" {
				name = target.get("title").string()
			}
			c.addEvent(target, name, docOf(target))
		}
	}
}

// referred are the definitions that a reference leads to.
func (c *conversion) referred(definitions *node) map[*node]bool {
	used := map[*node]bool{}
	definitions.each(func(n *node) {
		if target := c.documents.find(n, n.get("$ref").string()); target != nil {
			used[target] = true
		}
	})
	return used
}

var notInEventName = regexp.MustCompile("[^!#$&'()*+\\-./0-9:;<=>?A-Z\\[\\]^_`a-z{|}~]+")

// addEvent adds the event whose payload the schema describes.
func (c *conversion) addEvent(n *node, name, doc string) {
	clean := strings.Trim(notInEventName.ReplaceAllString(name, "."), ".")
	if len(clean) > 255 {
		clean = clean[:255]
	}
	if clean == "" {
		c.lose(n, Skipped, "an event without a name is left out")
		return
	}
	if clean != name {
		c.lose(n, Renamed, "event %q is called %q: its type stands in a header", name, clean)
	}
	if c.events[clean] {
		c.lose(n, Skipped, "event %q is there already: this one is left out", clean)
		return
	}
	payload, _, ok := c.documents.target(n)
	if !ok {
		c.lose(n, Skipped, "the payload of event %q leads nowhere in the files given: it is left out", clean)
		return
	}
	if payload.get("allOf") != nil {
		if payload = c.merge(payload); payload == nil {
			c.lose(n, Skipped, "the payload of event %q is no object: it is left out", clean)
			return
		}
	}
	if alternatives(payload) != nil {
		payload = c.mergeForms(payload)
	}
	if payload == nil || !c.isPayload(payload) {
		c.lose(n, Skipped, "the payload of event %q is no object with named members: it is left out", clean)
		return
	}
	c.events[clean] = true
	c.unknownKeywords(payload)
	e := &spec.Event{Name: clean, Version: 1, Current: true, Doc: doc, Deprecated: deprecated(payload)}
	c.spec.Events = append(c.spec.Events, e)
	e.Fields = c.fields(payload, clean)
}

// isPayload reports a schema of objects that are no maps.
func (c *conversion) isPayload(n *node) bool {
	types, nullable := c.typesOf(n)
	if len(types) != 1 || types[0] != "object" || nullable {
		return false
	}
	return n.get("patternProperties") == nil && (n.get("properties") != nil || !n.get("additionalProperties").is(object))
}
