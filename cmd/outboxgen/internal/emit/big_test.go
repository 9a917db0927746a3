package emit_test

import (
	"fmt"
	"strings"
)

// bigFields are fields of every form; each event of a big spec has some.
var bigFields = []string{
	`{type: string, max_length: 20, doc: "A text."}`, `bool`, `float`, `int`, `int64`, `decimal`, `timestamp`, `date`, `duration`, `uuid`, `bytes`, `json`,
	`"string?"`, `{type: decimal, optional: true, nullable: true}`, `{type: timestamp, nullable: true}`, `{type: json, optional: true}`,
	`[string]`, `[["int?"]]`, `{string: decimal}`, `{type: [bytes], optional: true, min_items: 1}`, `{type: {string: [Part]}, nullable: true}`,
	`Part`, `{type: Node, optional: true}`, `{type: Node, optional: true, nullable: true}`, `[Node]`, `Colour`, `[Colour]`,
	`{enum: [web, phone, "a b", "\"", "", "1x"]}`, `[{enum: [a, b], nullable: true}]`, `{type: string, pattern: "^[a-zé]*$", min_length: 1, max_length: 9}`,
	`{type: string, format: email}`, `{type: int, min: -5, max: 5}`, `{type: decimal, min: "0.01", max: "99.9"}`, `{type: date, min: 2026-01-01}`,
	`{type: duration, max: 1h}`, `{type: bytes, max_length: 3}`, `{type: string, optional: true, deprecated: "use another", doc: "ends */ here"}`,
	`{type: string, go_type: math/big.Int}`, `{type: [{type: string, go_type: net/netip.Addr}], optional: true}`, `{type: timestamp, nullable: true, go_type: time.Time}`,
}

// bigNames are wire names that have broken generators.
var bigNames = []string{
	"type", "func", "+1", "-1", "2fa", "a b", `a"c`, "é", "😀", "\uFB33", "len", "nil", "a.b.c", "HTTPUrl", "_", "x-y", "a/d", "%s", "string", "error", "日本", "ctx", "w", "e",
}

// bigSpec is a spec of n events that together use the whole language.
func bigSpec(n int) string {
	var b strings.Builder
	b.WriteString(`version: 1
package: events
source: /tests/big
defaults: {idempotency: event}
destinations:
  hook: {kind: webhook, url: "${HOOK_URL}", secrets: ["${HOOK_SECRET}"]}
  local: {kind: handler}
  broker: {kind: publisher}
outputs: {json_schema: schemas, asyncapi: asyncapi.yaml, markdown: events.md}
types:
  Part: {doc: A part., fields: {sku: string, quantity: {type: int, min: 0, max: 1000}, note: "string?"}}
  Node: {fields: {name: string, children: [Node], parent: "Node?", other: {type: Node, optional: true, nullable: true}, colour: Colour}}
  Colour: {doc: A colour., enum: [red, {value: "dark green", doc: As leaves.}, ""]}
events:
`)
	for i := range n {
		name := fmt.Sprintf("area%d.thing.done", i)
		if i%10 == 9 {
			// An older version of the event before it.
			name = fmt.Sprintf("area%d.thing.done@1", i-1)
		}
		fmt.Fprintf(&b, "  %s:\n    doc: Thing %d was done.\n    to: [hook, local, broker]\n", name, i)
		if i%10 == 8 {
			b.WriteString("    version: 2\n")
		}
		switch i % 4 {
		case 1:
			b.WriteString("    idempotency: [id]\n    ordering_key: id\n    on_dead_letter: hold\n")
		case 2:
			b.WriteString("    ordering_key: id\n    on_duplicate: ignore\n    idempotency: payload\n")
		}
		b.WriteString("    fields:\n      id: uuid\n")
		for j := range 8 {
			k := i*3 + j*7
			fmt.Fprintf(&b, "      %q: %s\n", fmt.Sprintf("%s%d", bigNames[k%len(bigNames)], j), bigFields[(i+j*5)%len(bigFields)])
		}
	}
	return b.String()
}
