package spec

import "github.com/outboxgen/outboxgen/runtime/payload"

// object is a mapping of the language: the keys it may have. The tables below
// are the language: the reader refuses what they do not list, suggests from
// them, and the JSON Schema is generated from them.
type object struct {
	name string // its name in the JSON Schema
	doc  string
	keys []key
}

type key struct {
	name     string
	doc      string // one sentence, shown by editors and when the key is missing
	required bool
	shape    schema
}

func (o *object) has(name string) bool {
	for _, k := range o.keys {
		if k.name == name {
			return true
		}
	}
	return false
}

func (o *object) names() []string {
	names := make([]string, len(o.keys))
	for i, k := range o.keys {
		names[i] = k.name
	}
	return names
}

var specObject = object{"spec", "An event spec of outboxgen.", []key{
	{"version", "The version of the spec language: 1.", true, only(1)},
	{"package", "The name of the generated Go package.", true, packageSchema()},
	{"source", "The CloudEvents source of every event, a URI reference such as /services/orders; it is part of every idempotency key.", true, schema{"type": textTypes, "pattern": sourcePattern}},
	{"doc", "What the package is about; becomes its Go doc comment.", false, anyText()},
	{"include", "Files with more types and events, relative to this file.", false, distinct(listOf(filledText()))},
	{"defaults", "What holds for every event that does not say otherwise.", false, ref("defaults")},
	{"destinations", "The named places that events go to.", false, mapOf(destinationNamePattern, ref("destination"))},
	{"types", "Named types: structs and enums.", false, typesSchema()},
	{"events", "The events by their type on the wire; an older version is called type@N.", false, mapOf(eventKeyPattern, ref("event"))},
	{"outputs", "What else is generated, for the receiving side.", false, ref("outputs")},
}}

var includeObject = object{"include", "A file that a spec includes.", []key{
	{"version", "The version of the spec language: 1.", false, only(1)},
	{"types", "Named types: structs and enums.", false, typesSchema()},
	{"events", "The events by their type on the wire; an older version is called type@N.", false, mapOf(eventKeyPattern, ref("event"))},
}}

var defaultsObject = object{"defaults", "What holds for every event that does not say otherwise.", []key{
	{"to", "The destinations of an event.", false, distinct(listOf(filledText()))},
	{"idempotency", idempotencyDoc, false, idempotencySchema()},
	{"on_duplicate", onDuplicateDoc, false, oneOf("error", "ignore")},
	{"on_dead_letter", onDeadLetterDoc, false, oneOf("continue", "hold")},
	{"retention", "How long published events are kept, which is how long a duplicate is recognised; 168h unless set.", false, positiveDuration()},
}}

var outputsObject = object{"outputs", "What else is generated, as slash paths relative to the spec's folder.", []key{
	{"json_schema", "A folder for one JSON Schema (2020-12) per event.", false, filledText()},
	{"asyncapi", "A file for an AsyncAPI 3 document.", false, filledText()},
	{"markdown", "A file for a Markdown page of all events.", false, filledText()},
}}

var destinationObject = object{"destination", "A named place that events go to.", []key{
	{"kind", "webhook: HTTP POST; handler: typed Go code in this process; publisher: a message broker.", true, oneOf("webhook", "handler", "publisher")},
	{"doc", docDoc, false, anyText()},
	{"go_name", goNameDoc, false, goNameSchema()},
	{"url", "Where a webhook posts to; may contain ${VAR}, which is read when the program starts.", false, filledText()},
	{"secrets", "What a webhook signs with, the newest first: ${VAR}, or file: and a path. A literal secret is refused.", false, distinct(atLeastOne(pattern(secretPattern)))},
	{"headers", "Static headers of a webhook; a value may contain ${VAR}.", false, mapOf("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", anyText())},
	{"allow", "The address ranges (CIDR) a webhook may send to; empty: all that the URL may mean.", false, distinct(listOf(filledText()))},
	{"quoted_idempotency_key", "Send Idempotency-Key as a structured-field string, in quotes.", false, boolean()},
	{"timeout", "How long one attempt may take; 10s unless set.", false, positiveDuration()},
	{"max_in_flight", "How many attempts run at once; 16 unless set.", false, integer(1, maxInFlightLimit)},
	{"retry", "When and how often a failed attempt is made again.", false, ref("retry")},
	{"max_age", "After this a delivery expires, since its insert or last replay; 0s, unless set: never.", false, duration()},
	{"breaker", "The circuit breaker, or off.", false, anyOf(only("off"), ref("breaker"))},
}}

var retryObject = object{"retry", "When and how often a failed attempt is made again: Full Jitter.", []key{
	{"max_attempts", "How many attempts a delivery has before it is a dead letter; 20 unless set.", false, integer(1, maxAttemptsLimit)},
	{"base", "The longest wait after the first attempt, doubled after each; 5s unless set.", false, positiveDuration()},
	{"cap", "The longest wait at all; 6h unless set.", false, positiveDuration()},
}}

var breakerObject = object{"breaker", "A destination's circuit breaker.", []key{
	{"failure_threshold", "How many failures in a row open it; 3 unless set.", false, integer(1, breakerLimit)},
	{"recovery_time", "How long it stays open before it lets probes through; 10s unless set.", false, positiveDuration()},
	{"half_open_max_calls", "How many probes run at once, and how many must succeed; 2 unless set.", false, integer(1, breakerLimit)},
}}

var typeObject = object{"namedType", "A named type: a struct with fields, or an enum.", []key{
	{"doc", docDoc, false, anyText()},
	{"go_name", goNameDoc, false, goNameSchema()},
	{"deprecated", deprecatedDoc, false, filledText()},
	{"fields", fieldsDoc, false, fieldsSchema()},
	{"enum", enumDoc, false, enumSchema()},
}}

var eventObject = object{"event", "An event: an immutable fact.", []key{
	{"doc", docDoc, false, anyText()},
	{"go_name", goNameDoc, false, goNameSchema()},
	{"deprecated", deprecatedDoc, false, filledText()},
	{"version", "The schema version of the payload, from 1; 1 unless set.", false, integer(1, maxVersion)},
	{"to", "The destinations of the event; [] only stores it.", false, distinct(listOf(filledText()))},
	{"ordering_key", "A field: deliveries with the same value are attempted one after another.", false, filledText()},
	{"idempotency", idempotencyDoc, false, idempotencySchema()},
	{"on_duplicate", onDuplicateDoc, false, oneOf("error", "ignore")},
	{"on_dead_letter", onDeadLetterDoc, false, oneOf("continue", "hold")},
	{"fields", fieldsDoc, true, fieldsSchema()},
	{"examples", "Payloads, as an example to readers; they are checked.", false, listOf(schema{"type": "object"})},
}}

var fieldObject = object{"field", "A field with more to say than its type.", append([]key{
	{"doc", docDoc, false, anyText()},
	{"go_name", goNameDoc, false, goNameSchema()},
	{"deprecated", deprecatedDoc, false, filledText()},
	{"optional", "The field may be absent.", false, boolean()},
	{"examples", "Values, as an example to readers; they are checked.", false, listOf(schema{})},
}, elementKeys...)}

var elementObject = object{"element", "What a list or a map holds, with more to say than its type.", elementKeys}

var elementKeys = []key{
	{"type", "A scalar, the name of a type, [T] or {string: T}.", false, ref("type")},
	{"enum", enumDoc, false, enumSchema()},
	{"nullable", "The value may be null.", false, boolean()},
	{"go_type", "A Go type of your own, as in example.org/shop/ship.Carrier.", false, pattern(goTypePattern)},
	{"min", "The least value.", false, filledText()},
	{"max", "The greatest value.", false, filledText()},
	{"min_length", "The least number of characters; of bytes with type bytes.", false, integer(0, maxLengthLimit)},
	{"max_length", "The greatest number of characters; of bytes with type bytes.", false, integer(0, maxLengthLimit)},
	{"min_items", "The least number of elements of a list or map.", false, integer(0, maxLengthLimit)},
	{"max_items", "The greatest number of elements of a list or map.", false, integer(0, maxLengthLimit)},
	{"pattern", "A regular expression (RE2) that matches somewhere in the text; anchor it with ^ and $.", false, filledText()},
	{"format", "What the text is: email, uri, hostname, ipv4 or ipv6.", false, oneOf(formatNames...)},
}

var enumValueObject = object{"enumValue", "An enum's value with more to say than its text.", []key{
	{"value", "The text on the wire.", true, anyText()},
	{"doc", docDoc, false, anyText()},
	{"go_name", "What ends the Go constant's name, as in Web for ChannelWeb.", false, goNameSchema()},
	{"deprecated", deprecatedDoc, false, filledText()},
}}

const (
	docDoc          = "What it is; becomes the Go doc comment."
	goNameDoc       = "The Go name, where the one made of the wire name does not fit."
	deprecatedDoc   = "What to use instead."
	fieldsDoc       = "The fields by their name on the wire; {} is none."
	enumDoc         = "The texts that the value may be."
	idempotencyDoc  = "What makes two inserts one event: payload (equal payloads), event (nothing, each insert is its own), or a list of the fields that identify the fact."
	onDuplicateDoc  = "What an insert of a known event answers: an error (error) or a receipt marked Duplicate (ignore); error unless set."
	onDeadLetterDoc = "Whether later events of the same ordering key wait for a dead letter: hold; continue unless set."
)

// Limits and patterns that the reader and the JSON Schema share.
const (
	maxInFlightLimit = 10_000
	maxAttemptsLimit = 1_000_000
	breakerLimit     = 1_000_000
	maxVersion       = 1_000_000
	maxLengthLimit   = 1 << 30

	packagePattern         = `^[A-Za-z_][A-Za-z0-9_]*$`
	sourcePattern          = `^[!#$&-\[\]-~]+$` // visible ASCII but " % and \
	destinationNamePattern = `^[A-Za-z][A-Za-z0-9_.-]{0,62}$`
	goNamePattern          = `^\p{Lu}[\p{L}\p{Nd}_]*$`
	goTypePattern          = `^([A-Za-z0-9_~+-][A-Za-z0-9._~+-]*(?:/[A-Za-z0-9_~+-][A-Za-z0-9._~+-]*)*)\.(\p{Lu}[\p{L}\p{Nd}_]*)$`
	variablePattern        = `\$\{[A-Za-z_][A-Za-z0-9_]*\}`
	secretPattern          = `^(` + variablePattern + `|file:[^\s].*)$`
	typeNamePattern        = `^[A-Za-z][A-Za-z0-9_.-]*$`
	// Visible ASCII that needs no escape in a header: no space " % , \ and
	// no @ but the one before a version.
	eventNamePattern = `[!#$&'()*+\-./0-9:;<=>?A-Z\[\]^_` + "`" + `a-z{|}~]{1,255}`
	eventKeyPattern  = `^` + eventNamePattern + `(@[1-9][0-9]{0,5})?$`
)

// webhookKeys are the keys that only a webhook has.
var webhookKeys = []string{"url", "secrets", "headers", "allow", "quoted_idempotency_key"}

var constraintKeys = []string{"min", "max", "min_length", "max_length", "min_items", "max_items", "pattern", "format"}

// goKeywords cannot be the name of a package.
var goKeywords = []string{
	"break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "for", "func", "go", "goto", "if",
	"import", "interface", "map", "package", "range", "return", "select", "struct", "switch", "type", "var",
}

// formats are the values of format, as the generated code checks them.
var formats = map[string]payload.Format{
	"email": payload.Email, "uri": payload.URI, "hostname": payload.Hostname, "ipv4": payload.IPv4, "ipv6": payload.IPv6,
}

var formatNames = []string{"email", "uri", "hostname", "ipv4", "ipv6"}
