package spec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// JSONSchema is a JSON Schema (draft 7, which every editor's YAML support
// knows) of a spec and of an included file. It is made of the tables in keys.go.
// It refuses nothing that Load accepts; what takes more than one place to see,
// such as a name that stands for nothing, only Load sees.
func JSONSchema() []byte {
	definitions := schema{"type": typeSchema(), "element or type": anyOf(ref("type"), ref("element"))}
	for _, o := range objects() {
		definitions[o.name] = o.schema()
	}
	// A file with one of a spec's own keys is a spec, any other an included file.
	var own []schema
	for _, k := range specObject.keys {
		if !includeObject.has(k.name) {
			own = append(own, required(k.name))
		}
	}
	root := schema{
		"$schema":     "http://json-schema.org/draft-07/schema#",
		"title":       "outboxgen event spec",
		"type":        "object",
		"if":          anyOf(own...),
		"then":        ref(specObject.name),
		"else":        ref(includeObject.name),
		"definitions": definitions,
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(root); err != nil {
		panic(err) // texts, numbers, lists and maps only
	}
	return out.Bytes()
}

// objects are all tables of keys.
func objects() []*object {
	return []*object{
		&specObject, &includeObject, &defaultsObject, &outputsObject, &destinationObject, &retryObject, &breakerObject,
		&typeObject, &eventObject, &fieldObject, &elementObject, &enumValueObject,
	}
}

func (o *object) schema() schema {
	properties := schema{}
	var needed []string
	for _, k := range o.keys {
		property := schema{"description": k.doc}
		for name, value := range k.shape {
			property[name] = value
		}
		properties[k.name] = property
		if k.required {
			needed = append(needed, k.name)
		}
	}
	s := schema{"type": "object", "description": o.doc, "properties": properties, "additionalProperties": false}
	if needed != nil {
		s["required"] = needed
	}
	for name, value := range o.conditions() {
		s[name] = value
	}
	return s
}

// conditions are what a table of keys cannot say.
func (o *object) conditions() schema {
	switch o.name {
	case specObject.name:
		return schema{"allOf": []schema{chosenHereOrInDefaults("to"), chosenHereOrInDefaults("idempotency")}}
	case destinationObject.name:
		return schema{
			"if":   schema{"properties": schema{"kind": only(string(Webhook))}},
			"then": required("url"),
			"else": without(webhookKeys...),
		}
	case typeObject.name:
		return schema{"oneOf": []schema{required("fields"), required("enum")}}
	case fieldObject.name, elementObject.name:
		return schema{"oneOf": []schema{required("type"), required("enum")}, "dependencies": constraintSchemas()}
	}
	return nil
}

// chosenHereOrInDefaults: each event of the file has the key, unless defaults
// have it.
func chosenHereOrInDefaults(key string) schema {
	return schema{
		"if":   schema{"required": []string{"defaults"}, "properties": schema{"defaults": required(key)}},
		"else": schema{"properties": schema{"events": schema{"additionalProperties": required(key)}}},
	}
}

// constraintSchemas says which types have which constraints.
func constraintSchemas() schema {
	of := func(has func(*TypeRef) bool) schema {
		var types []schema
		var names []string
		for _, s := range scalars {
			if has(&TypeRef{Scalar: s}) {
				names = append(names, string(s), string(s)+"?")
			}
		}
		if names != nil {
			types = append(types, oneOf(names...))
		}
		if has(&TypeRef{List: &Element{}}) {
			types = append(types, schema{"type": []string{"array", "object"}})
		}
		return schema{"required": []string{"type"}, "properties": schema{"type": anyOf(types...)}}
	}
	out := schema{
		"go_type":  of(func(t *TypeRef) bool { return t.Scalar != "" }),
		"nullable": schema{"not": schema{"required": []string{"type"}, "properties": schema{"nullable": only(true), "type": oneOf("json", "json?")}}},
	}
	for _, key := range constraintKeys {
		out[key] = of(func(t *TypeRef) bool { return hasConstraint(t, key) })
	}
	return out
}

// typeSchema is T, T?, [T] or {string: T}.
func typeSchema() schema {
	var names []string
	for _, s := range scalars {
		names = append(names, string(s), string(s)+"?")
	}
	within := ref("element or type")
	return schema{
		"description": "A scalar or the name of a type, with a ? behind it where it may be absent (in a list or map: null); [T]; or {string: T}.",
		"anyOf": []schema{
			oneOf(names...),
			pattern(strings.TrimSuffix(typeNamePattern, "$") + `\??$`),
			{"type": "array", "items": within, "minItems": 1, "maxItems": 1},
			{"type": "object", "properties": schema{"string": within}, "required": []string{"string"}, "additionalProperties": false},
		},
	}
}

// schema is a fragment of JSON Schema.
type schema = map[string]any

// Texts are taken as they are written, and an editor's YAML reader sees
// numbers and booleans in some of them.
var textTypes = []string{"string", "number", "boolean"}

func anyText() schema              { return schema{"type": textTypes} }
func filledText() schema           { return schema{"type": textTypes, "pattern": `\S`} }
func boolean() schema              { return schema{"type": "boolean"} }
func ref(name string) schema       { return schema{"$ref": "#/definitions/" + name} }
func listOf(element schema) schema { return schema{"type": "array", "items": element} }
func only(value any) schema        { return schema{"const": value} }
func oneOf(words ...string) schema { return schema{"enum": words} }

func anyOf(schemas ...schema) schema { return schema{"anyOf": schemas} }
func required(keys ...string) schema { return schema{"required": keys} }
func pattern(patterns ...string) schema {
	all := make([]schema, len(patterns))
	for i, p := range patterns {
		all[i] = schema{"pattern": p}
	}
	if len(all) == 1 {
		return schema{"type": "string", "pattern": patterns[0]}
	}
	return schema{"type": "string", "allOf": all}
}

func without(keys ...string) schema {
	present := make([]schema, len(keys))
	for i, key := range keys {
		present[i] = required(key)
	}
	return schema{"not": anyOf(present...)}
}

// distinct is a list that has each element once.
func distinct(list schema) schema {
	list["uniqueItems"] = true
	return list
}

func atLeastOne(element schema) schema {
	return schema{"type": "array", "items": element, "minItems": 1}
}

func integer(low, high int) schema {
	return schema{"type": "integer", "minimum": low, "maximum": high}
}

const durationPattern = `^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`

func duration() schema { return anyOf(only(0), pattern(durationPattern)) }

// positiveDuration has a digit that is not 0.
func positiveDuration() schema { return pattern(durationPattern, "[1-9]") }

func mapOf(names string, value schema) schema {
	return schema{"type": "object", "propertyNames": schema{"pattern": names}, "additionalProperties": value}
}

func packageSchema() schema {
	s := schema{"type": []string{"string", "boolean"}, "pattern": packagePattern} // package true can be
	s["not"] = anyOf(oneOf(slices.Concat(goKeywords, []string{"_", "documentation"})...), pattern("_test$"))
	return s
}

func goNameSchema() schema { return pattern(goNamePattern) }

func typesSchema() schema {
	names := make([]string, len(scalars))
	for i, s := range scalars {
		names[i] = string(s)
	}
	s := mapOf(typeNamePattern, ref("namedType"))
	s["propertyNames"] = schema{"pattern": typeNamePattern, "not": oneOf(names...)}
	return s
}

func fieldsSchema() schema {
	return schema{"type": "object", "propertyNames": schema{"minLength": 1, "maxLength": maxFieldName}, "additionalProperties": anyOf(ref("type"), ref("field"))}
}

func enumSchema() schema {
	return distinct(atLeastOne(anyOf(anyText(), ref("enumValue"))))
}

func idempotencySchema() schema {
	return anyOf(oneOf("payload", "event"), distinct(atLeastOne(anyText())))
}
