package spec

// Rule is a kind of diagnostic.
type Rule struct {
	Name     string
	Severity Severity
	Doc      string // one line: what it says of a spec
}

const (
	ruleSyntax             = "syntax"
	ruleSecondDocument     = "second-document"
	ruleAlias              = "alias"
	ruleMergeKey           = "merge-key"
	ruleTag                = "tag"
	ruleKeyNotText         = "key-not-text"
	ruleDuplicateKey       = "duplicate-key"
	ruleTooLarge           = "too-large"
	ruleUnreadable         = "unreadable"
	ruleIncludeTwice       = "include-twice"
	ruleUnknownKey         = "unknown-key"
	ruleMissingKey         = "missing-key"
	ruleMissingValue       = "missing-value"
	ruleWrongShape         = "wrong-shape"
	ruleBadWord            = "bad-word"
	ruleBadNumber          = "bad-number"
	ruleBadBoolean         = "bad-boolean"
	ruleBadDuration        = "bad-duration"
	ruleBadRange           = "bad-range"
	ruleTwice              = "twice"
	ruleBadVersion         = "bad-version"
	ruleBadPackage         = "bad-package"
	ruleBadSource          = "bad-source"
	ruleBadPath            = "bad-path"
	ruleBadDestinationName = "bad-destination-name"
	ruleBadTypeName        = "bad-type-name"
	ruleBadEventName       = "bad-event-name"
	ruleBadFieldName       = "bad-field-name"
	ruleBadGoName          = "bad-go-name"
	ruleBadGoType          = "bad-go-type"
	ruleDuplicateName      = "duplicate-name"
	ruleNameCollision      = "name-collision"
	ruleNameReserved       = "name-reserved"
	ruleLongGoName         = "long-go-name"
	ruleFileCollision      = "file-collision"
	ruleNotForKind         = "not-for-kind"
	ruleBadURL             = "bad-url"
	ruleBadVariable        = "bad-variable"
	ruleLiteralSecret      = "literal-secret"
	ruleBadHeader          = "bad-header"
	ruleBadRangeCIDR       = "bad-address-range"
	ruleUnknownType        = "unknown-type"
	ruleBadType            = "bad-type"
	ruleTypeAndEnum        = "type-and-enum"
	ruleTooDeep            = "too-deep"
	ruleNullableJSON       = "nullable-json"
	ruleNullInEnum         = "null-in-enum"
	ruleNotForType         = "not-for-type"
	ruleBadBound           = "bad-bound"
	ruleBadPattern         = "bad-pattern"
	ruleBadExample         = "bad-example"
	ruleCycle              = "cycle"
	ruleNoEvents           = "no-events"
	ruleUnknownDestination = "unknown-destination"
	ruleUnknownField       = "unknown-field"
	ruleBadOrderingKey     = "bad-ordering-key"
	ruleMissingIdempotency = "missing-idempotency"
	ruleNoCurrentVersion   = "no-current-version"

	ruleUnsigned            = "unsigned"
	ruleUnusedDestination   = "unused-destination"
	ruleShortRetention      = "short-retention"
	rulePayloadIdentity     = "payload-identity"
	ruleOptionalIdentity    = "optional-identity"
	ruleIdempotencyChanged  = "idempotency-changed"
	ruleOptionalOrderingKey = "optional-ordering-key"
	ruleHoldWithoutKey      = "hold-without-key"
)

// DiagnosticRules are all rules, errors first, in the order in which docs/spec.md lists
// them. Every diagnostic names one of them.
func DiagnosticRules() []Rule {
	return []Rule{
		{ruleSyntax, Error, "The file is not YAML, or not UTF-8."},
		{ruleSecondDocument, Error, "A file holds more than one YAML document."},
		{ruleAlias, Error, "An anchor or an alias: a value is written where it is used."},
		{ruleMergeKey, Error, "A merge key (`<<`)."},
		{ruleTag, Error, "A YAML tag such as `!!str`."},
		{ruleKeyNotText, Error, "A key that is a list or a mapping."},
		{ruleDuplicateKey, Error, "A key that stands twice in one mapping."},
		{ruleTooLarge, Error, "A file of more than 16 MiB."},
		{ruleUnreadable, Error, "The spec or an included file cannot be read."},
		{ruleIncludeTwice, Error, "A file is included twice, or includes itself."},
		{ruleUnknownKey, Error, "A key that the language does not have."},
		{ruleMissingKey, Error, "A key that must be there is not."},
		{ruleMissingValue, Error, "A value is null, blank or an empty list where something is needed."},
		{ruleWrongShape, Error, "A text, a list or a mapping stands where another of them belongs."},
		{ruleBadWord, Error, "A value is not one of the few that its key may have."},
		{ruleBadNumber, Error, "A value is no whole number, or out of its range."},
		{ruleBadBoolean, Error, "A value is neither `true` nor `false`; `yes` and `\"true\"` are texts."},
		{ruleBadDuration, Error, "A value is no duration such as `10s` or `168h`, or out of its range."},
		{ruleBadRange, Error, "A least value is above the greatest."},
		{ruleTwice, Error, "A list names the same thing twice."},
		{ruleBadVersion, Error, "A version of the language that is not 1, or an older version of an event that is not older."},
		{ruleBadPackage, Error, "`package` cannot be the name of a Go package."},
		{ruleBadSource, Error, "`source` is no URI reference in visible ASCII."},
		{ruleBadPath, Error, "A path is not relative, leaves the folder of the spec, or does not mean the same on every system."},
		{ruleBadDestinationName, Error, "A destination has a name that it cannot have."},
		{ruleBadTypeName, Error, "A type has a name that it cannot have."},
		{ruleBadEventName, Error, "An event has a type that cannot stand in a header."},
		{ruleBadFieldName, Error, "A field has an empty name or a very long one."},
		{ruleBadGoName, Error, "`go_name` is no exported Go identifier."},
		{ruleBadGoType, Error, "`go_type` is no Go type, or stands at what is no scalar."},
		{ruleDuplicateName, Error, "Two files declare the same type or event."},
		{ruleNameCollision, Error, "Two names need the same Go name."},
		{ruleNameReserved, Error, "A name needs a Go name that the generated package has itself."},
		{ruleLongGoName, Error, "A name makes a Go name of more than 120 characters."},
		{ruleFileCollision, Error, "Two events need files whose names differ in case only."},
		{ruleNotForKind, Error, "A key of a webhook stands at a handler or publisher."},
		{ruleBadURL, Error, "`url` is no http or https URL with a host."},
		{ruleBadVariable, Error, "A `${` that begins no variable."},
		{ruleLiteralSecret, Error, "A secret or a credential in plain text."},
		{ruleBadHeader, Error, "A header that HTTP does not allow, or that the sender sets itself."},
		{ruleBadRangeCIDR, Error, "A value of `allow` is no CIDR address range."},
		{ruleUnknownType, Error, "A field names a type that there is not."},
		{ruleBadType, Error, "A type is neither a name, `[T]` nor `{string: T}`."},
		{ruleTypeAndEnum, Error, "A `type` beside an `enum`, or `fields` beside an `enum`."},
		{ruleTooDeep, Error, "More than 100 lists and maps in each other."},
		{ruleNullableJSON, Error, "A nullable `json`, which is any value already, null too."},
		{ruleNullInEnum, Error, "A null among the values of an enum."},
		{ruleNotForType, Error, "A constraint that the type does not have."},
		{ruleBadBound, Error, "`min` or `max` is no value of the type."},
		{ruleBadPattern, Error, "`pattern` is no RE2 regular expression."},
		{ruleBadExample, Error, "An example does not fit its type and constraints."},
		{ruleCycle, Error, "A struct holds itself by value."},
		{ruleNoEvents, Error, "The spec has no events."},
		{ruleUnknownDestination, Error, "`to` names a destination that there is not."},
		{ruleUnknownField, Error, "`ordering_key` or `idempotency` names a field that the event has not."},
		{ruleBadOrderingKey, Error, "`ordering_key` names a field whose type has no plain text."},
		{ruleMissingIdempotency, Error, "Neither the event nor `defaults` choose an idempotency."},
		{ruleNoCurrentVersion, Error, "An older version of an event stands alone."},
		{ruleUnsigned, Warning, "A webhook without secrets."},
		{ruleUnusedDestination, Warning, "A destination that no event goes to."},
		{ruleShortRetention, Warning, "Retries may go on for longer than duplicates are recognised."},
		{rulePayloadIdentity, Warning, "Idempotency by payload, where nothing in the payload tells two facts apart."},
		{ruleOptionalIdentity, Warning, "Idempotency by fields that may all be absent."},
		{ruleIdempotencyChanged, Warning, "Two versions of an event have different idempotency."},
		{ruleOptionalOrderingKey, Warning, "An ordering key that may be absent."},
		{ruleHoldWithoutKey, Warning, "`on_dead_letter: hold` without an ordering key."},
	}
}
