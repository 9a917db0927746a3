package importer

import (
	"strconv"
	"strings"
)

// AsyncAPI imports AsyncAPI documents, 2 and 3. Every message is an event,
// called by its name or, without one, by its key, whoever sends it.
func AsyncAPI(files []File, o Options) (Result, error) {
	c, roots, err := newConversion(files, o)
	if err != nil {
		return Result{}, err
	}
	for _, root := range roots {
		if root.get("asyncapi") == nil {
			continue // a file that others refer to
		}
		if c.spec.Doc == "" {
			c.spec.Doc = root.get("info").get("title").string()
		}
		c.messages(root)
		for _, key := range []string{"servers", "operations", "tags", "externalDocs"} {
			if n := root.get(key); n != nil {
				c.lose(n, Unattached, "%s are left out", key)
			}
		}
		for _, m := range root.get("components").orEmpty().members {
			switch m.name {
			case "schemas", "messages", "channels":
			default:
				c.lose(m.value, Unattached, "%s are left out", m.name)
			}
		}
	}
	return c.finish()
}

// messages finds every message of a document, once: those that components
// have, then those that only a channel has.
func (c *conversion) messages(root *node) {
	seen := map[*node]bool{}
	for _, m := range root.get("components").get("messages").orEmpty().members {
		c.message(m.value, m.name, seen)
	}
	channels := root.get("channels").orEmpty().members
	for _, channel := range append(channels, root.get("components").get("channels").orEmpty().members...) {
		target, _, ok := c.documents.target(channel.value)
		if !ok {
			c.lose(channel.value, Skipped, "channel %q leads nowhere in the files given: its messages are left out", channel.name)
			continue
		}
		for _, m := range target.get("messages").orEmpty().members { // 3
			c.message(m.value, m.name, seen)
		}
		for _, key := range []string{"publish", "subscribe"} { // 2
			operation := target.get(key)
			name := operation.get("operationId").string()
			if name == "" {
				name = channel.name
			}
			if m := operation.get("message"); m != nil {
				c.message(m, name, seen)
			}
		}
		for _, key := range []string{"bindings", "parameters", "servers"} {
			if n := target.get(key); n != nil {
				c.lose(n, Unattached, "%s of channel %q are left out", key, channel.name)
			}
		}
	}
}

func (c *conversion) message(n *node, key string, seen map[*node]bool) {
	target, name, ok := c.documents.target(n)
	if !ok {
		c.lose(n, Skipped, "message %q leads nowhere in the files given: it is left out", key)
		return
	}
	if seen[target] {
		return
	}
	seen[target] = true
	if choices := target.get("oneOf"); choices.is(array) { // 2
		for i, choice := range choices.items {
			c.message(choice, key+"."+strconv.Itoa(i+1), seen)
		}
		return
	}
	if name == "" {
		name = key
	}
	for _, k := range []string{"messageId", "name"} {
		if s := target.get(k).string(); s != "" {
			name = s
		}
	}
	for _, k := range []string{"headers", "traits", "correlationId", "bindings", "examples"} {
		if v := target.get(k); v != nil {
			c.lose(v, Unattached, "%s of message %q are left out", k, name)
		}
	}
	payload := target.get("payload")
	format := target.get("schemaFormat").string()
	if inner := payload.get("schema"); inner != nil && payload.get("schemaFormat") != nil { // 3
		format, payload = payload.get("schemaFormat").string(), inner
	}
	switch {
	case format != "" && !isJSONSchema(format):
		c.lose(target, Skipped, "the payload of message %q is described in %q: it is left out", name, format)
	case payload == nil:
		c.lose(target, Skipped, "message %q has no payload: it is left out", name)
	default:
		doc := docOf(target)
		if doc == "" {
			doc = docOf(payload)
		}
		c.addEvent(payload, name, doc)
	}
}

// isJSONSchema reports the formats of AsyncAPI that are JSON Schema or more of
// it.
func isJSONSchema(format string) bool {
	return strings.Contains(format, "vnd.aai.asyncapi") || strings.Contains(format, "schema+json") || strings.Contains(format, "schema+yaml")
}
