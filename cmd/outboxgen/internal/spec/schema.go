package spec

// schema is a fragment of JSON Schema 2020-12.
type schema = map[string]any

// Texts are taken as they are written, and an editor's YAML reader sees
// numbers, booleans and dates in some of them.
var textTypes = []string{"string", "number", "boolean"}

func anyText() schema              { return schema{"type": textTypes} }
func filledText() schema           { return schema{"type": textTypes, "pattern": `\S`} }
func pattern(p string) schema      { return schema{"type": "string", "pattern": p} }
func boolean() schema              { return schema{"type": "boolean"} }
func ref(name string) schema       { return schema{"$ref": "#/$defs/" + name} }
func listOf(element schema) schema { return schema{"type": "array", "items": element} }
func only(value any) schema        { return schema{"const": value} }
func anyOf(schemas ...schema) schema {
	return schema{"anyOf": schemas}
}

func oneOf(words ...string) schema { return schema{"enum": words} }

func atLeastOne(element schema) schema {
	return schema{"type": "array", "items": element, "minItems": 1}
}

func integer(low, high int) schema {
	return schema{"type": "integer", "minimum": low, "maximum": high}
}

func duration() schema {
	return anyOf(only(0), pattern(`^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`))
}

func mapOf(names string, value schema) schema {
	return schema{"type": "object", "propertyNames": schema{"pattern": names}, "additionalProperties": value}
}

func goNameSchema() schema { return pattern(`^\p{Lu}[\p{L}\p{Nd}_]*$`) }

func fieldsSchema() schema {
	return schema{"type": "object", "propertyNames": schema{"minLength": 1}, "additionalProperties": anyOf(ref("type"), ref("field"))}
}

func enumSchema() schema {
	return atLeastOne(anyOf(anyText(), ref("enumValue")))
}

func idempotencySchema() schema {
	return anyOf(oneOf("payload", "event"), atLeastOne(filledText()))
}
