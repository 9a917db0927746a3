package compat

import (
	"fmt"
	"slices"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// Change is one difference between two specs.
type Change struct {
	// Pos is where the change stands in the new spec; of what is gone, where it
	// would stand: at its event or type, or at the top of the file.
	Pos     spec.Pos
	Rule    Rule
	Message string // what changed
}

// Diagnostic shows the change as the generator shows its own: an error when it
// is breaking, else a warning.
func (c Change) Diagnostic() spec.Diagnostic {
	severity := spec.Warning
	if c.Rule.Breaking() {
		severity = spec.Error
	}
	return spec.Diagnostic{Pos: c.Pos, Severity: severity, Rule: c.Rule.Name, Message: c.Message, Hint: c.Rule.Advice}
}

// String is "file:line:col: message (advice)".
func (c Change) String() string { return c.Diagnostic().String() }

// Rule is a kind of change.
type Rule struct {
	Name   string
	Breaks []Victim // none: the change is safe
	Doc    string   // what changed
	Why    string   // what then happens
	Advice string   // what to do instead; "" for a safe change
}

// Breaking reports whether the change can break something.
func (r Rule) Breaking() bool { return len(r.Breaks) > 0 }

// Victim is what a change can break.
type Victim string

// What a change can break.
const (
	Stored    Victim = "stored events" // inserted before the change, delivered after it
	Receivers Victim = "receivers"     // that still have the old contract
	GoCode    Victim = "Go code"       // that uses the generated package
	Inserts   Victim = "inserts"       // that worked before
)

const (
	newVersion     = "leave this version as it is, as TYPE@N, and make the change in a new one"
	addedInVersion = "make it optional, or add it in a new version"
)

// ofType is the advice for what is within a named type, which has no versions.
var ofType = map[string]string{
	newVersion:     "leave this type as it is, and make the change in a new type beside it, used by a new version of the event",
	addedInVersion: "make it optional, or add it in a new type beside this one, used by a new version of the event",
}

var (
	sourceChanged = Rule{"source-changed", []Victim{Stored, Receivers}, "`source` is another one",
		"It is part of every idempotency key: what was applied once is applied again, and receivers that expect the old source answer 401.", "keep the source, even when the service moves"}
	packageRenamed = Rule{"package-renamed", []Victim{GoCode}, "`package` is another one",
		"Code that imports the package by its name does not compile.", "keep the name"}

	destinationRemoved = Rule{"destination-removed", []Victim{Stored, Receivers, GoCode}, "A destination is gone",
		"Its open deliveries are never made, its option and handler are gone, and a receiver under another name applies again what it has applied.",
		"take it out of every event's to first, and remove it when nothing waits for it; to rename it, see outboxgen destination move --help"}
	destinationKindChanged = Rule{"destination-kind-changed", []Victim{Receivers, GoCode}, "A destination has another kind",
		"Its receiver gets nothing any more, and its handler or option has another type.", "add a destination with another name"}
	destinationRenamed = Rule{"destination-go-name-changed", []Victim{GoCode}, "A destination's Go names are others",
		"Code that uses its option, handler or receiver does not compile.", "keep the go_name"}
	destinationOrderChanged = Rule{"destination-order-changed", []Victim{GoCode}, "Handlers or publishers stand in another order",
		"They are positional arguments of NewDispatcher: two publishers change places without a word of the compiler.", "keep the order; add at the end"}
	destinationAdded = Rule{"destination-added", nil, "A destination is new",
		"NewDispatcher asks for its handler or publisher: the compiler says so.", ""}
	signatureRemoved = Rule{"signature-removed", []Victim{Receivers}, "A webhook has no secrets any more",
		"Receivers refuse requests without a signature.", "keep a secret until every receiver says AllowUnsigned"}
	idempotencyHeaderChanged = Rule{"idempotency-header-changed", []Victim{Receivers}, "`quoted_idempotency_key` is another one",
		"Receivers that compare Idempotency-Key as text take every event for a new one.", "add a destination with another name"}

	eventRemoved = Rule{"event-removed", []Victim{Stored, Receivers, GoCode}, "An event is gone",
		"Stored events of the type have no handler, receivers wait for what does not come, and its Go type is gone.", "keep it, with deprecated: what to use instead"}
	versionRemoved = Rule{"event-version-removed", []Victim{Stored, GoCode}, "A version of an event is gone",
		"Stored events of that version have no handler, and its Go type is gone or means another version.", "leave it as TYPE@N until none of it is stored"}
	eventAdded = Rule{"event-added", nil, "An event is new",
		"Handlers and receivers of its destinations get a method: the compiler says so. A receiver that does not know it yet answers that it shall be sent again.", ""}
	versionAdded = Rule{"event-version-added", nil, "An event has a new version, and the old one stays beside it",
		"The Go name now means the new version, and the old one ends in its number: the compiler says where. A receiver that does not know it yet answers that it shall be sent again.", ""}
	eventRenamed = Rule{"event-go-name-changed", []Victim{GoCode}, "An event's Go name is another one",
		"Code that uses its type, insert or handler does not compile.", "keep the go_name"}
	routeRemoved = Rule{"route-removed", []Victim{Stored, Receivers, GoCode}, "An event goes to a destination no more",
		"Its receiver waits for what does not come, and open deliveries to it have no handler.", "tell the receiver first"}
	routeAdded = Rule{"route-added", nil, "An event goes to one more destination",
		"Its handler or receiver gets a method: the compiler says so. Events that are stored already do not go there.", ""}
	idempotencyChanged = Rule{"idempotency-changed", []Victim{Stored, Receivers}, "`idempotency` is another one",
		"The same fact gets another key: an insert and a receiver that have seen it do not know it, and a receiver with the old policy answers 401.", newVersion}
	identityChanged = Rule{"identity-field-changed", []Victim{Stored, Receivers}, "A field that `idempotency` names has another type",
		"The same fact gets another key: an insert and a receiver that have seen it do not know it.", newVersion}
	payloadIdentityChanged = Rule{"payload-identity-changed", []Victim{Stored, Receivers}, "An event that is known by its payload has a new field",
		"The same fact, with the field set, gets another key: an insert and a receiver that have seen it do not know it.", "name the fields that identify the fact, in a new version"}
	orderingKeyChanged = Rule{"ordering-key-changed", []Victim{Stored, Receivers}, "`ordering_key` is another field or none",
		"Events that came one after another come in any order, stored ones and new ones at once.", newVersion}
	orderingKeyAdded = Rule{"ordering-key-added", nil, "An event has an `ordering_key` where it had none",
		"Events of one key come one after another from now on.", ""}
	holdRemoved = Rule{"hold-removed", []Victim{Receivers}, "`on_dead_letter` is `continue` where it was `hold`",
		"A receiver gets later events of a key without the earlier one.", "add a destination with another name"}
	onDuplicateChanged = Rule{"on-duplicate-changed", []Victim{GoCode}, "`on_duplicate` is another one",
		"Code that looks for ErrDuplicate does not see it any more, or code that did not has to.", newVersion}

	fieldRemoved = Rule{"field-removed", []Victim{Receivers, GoCode}, "A field is gone",
		"Receivers that require it refuse the event, and code that uses it does not compile.", "keep it, with deprecated: what to use instead"}
	requiredFieldAdded = Rule{"required-field-added", []Victim{Stored, GoCode}, "A required field is new",
		"Stored events have no value for it and cannot be decoded, and inserts that do not set it send its zero value.", addedInVersion}
	optionalFieldAdded = Rule{"optional-field-added", nil, "An optional field is new",
		"Stored events do not have it, and receivers that do not know it pass it by.", ""}
	fieldTypeChanged = Rule{"field-type-changed", []Victim{Stored, Receivers, GoCode}, "A field has another type",
		"Old and new do not read each other's values.", newVersion}
	fieldBecameRequired = Rule{"field-became-required", []Victim{Stored, GoCode}, "A field that was optional is required",
		"Stored events without it cannot be decoded, and its Go type is another one.", newVersion}
	fieldBecameOptional = Rule{"field-became-optional", []Victim{Receivers, GoCode}, "A field that was required is optional",
		"Receivers that require it refuse events without it, and its Go type is another one.", newVersion}
	nullabilityChanged = Rule{"nullability-changed", []Victim{Stored, Receivers, GoCode}, "A value may be null where it could not, or cannot where it could",
		"One side refuses the other's null, and the Go type is another one.", newVersion}
	fieldRenamed = Rule{"field-go-name-changed", []Victim{GoCode}, "A field's Go name is another one",
		"Code that uses it does not compile.", "keep the go_name"}
	goTypeChanged = Rule{"go-type-changed", []Victim{GoCode}, "A value has another Go type, and the same text on the wire",
		"Code that uses it does not compile.", "keep the Go type"}
	typeRenamed = Rule{"type-go-name-changed", []Victim{GoCode}, "A named type has another Go name",
		"Code that uses it does not compile.", "keep the go_name"}
	typeRemoved = Rule{"type-removed", []Victim{GoCode}, "A named type that nothing uses is gone",
		"Code that uses its Go type does not compile.", "keep it, with deprecated: what to use instead"}
	enumValueRemoved = Rule{"enum-value-removed", []Victim{Inserts, GoCode}, "A value of an enum is gone",
		"Inserts with it fail, its constant is gone, and stored events still have it.", "keep it, with deprecated: what to use instead"}
	enumValueAdded = Rule{"enum-value-added", []Victim{Receivers}, "An enum has a new value",
		"A receiver that checks events against the old contract refuses it, and one that does not has no case for it.", newVersion}
	enumValueRenamed = Rule{"enum-value-go-name-changed", []Victim{GoCode}, "The constant of an enum's value is another one",
		"Code that uses it does not compile.", "keep the go_name"}
	ruleTightened = Rule{"rule-tightened", []Victim{Inserts}, "A constraint allows less",
		"Inserts that worked fail, and stored events may break the new contract.", newVersion}
	ruleLoosened = Rule{"rule-loosened", []Victim{Receivers}, "A constraint allows more",
		"A receiver that checks events against the old contract refuses what is new.", newVersion}
)

// Rules are all rules, in the order in which docs/breaking.md lists them.
func Rules() []Rule {
	return []Rule{
		sourceChanged, packageRenamed,
		destinationRemoved, destinationKindChanged, destinationRenamed, destinationOrderChanged, destinationAdded, signatureRemoved, idempotencyHeaderChanged,
		eventRemoved, versionRemoved, eventAdded, versionAdded, eventRenamed, routeRemoved, routeAdded,
		idempotencyChanged, identityChanged, payloadIdentityChanged, orderingKeyChanged, orderingKeyAdded, holdRemoved, onDuplicateChanged,
		fieldRemoved, requiredFieldAdded, optionalFieldAdded, fieldTypeChanged, fieldBecameRequired, fieldBecameOptional, nullabilityChanged, fieldRenamed, goTypeChanged,
		typeRenamed, typeRemoved, enumValueRemoved, enumValueAdded, enumValueRenamed, ruleTightened, ruleLoosened,
	}
}

// Breaking gives the changes from old to new that can break something, by
// place.
func Breaking(old, new *spec.Spec) []Change {
	return slices.DeleteFunc(Changes(old, new), func(c Change) bool { return !c.Rule.Breaking() })
}

// Changes gives all changes that a rule knows, safe ones too, by place.
// Changes of docs, examples, outputs and of how a destination is reached and
// tried are none.
func Changes(old, new *spec.Spec) []Change {
	c := comparison{old: old, new: new, seen: map[pair]bool{}}
	c.spec()
	slices.SortStableFunc(c.changes, func(a, b Change) int { return a.Pos.Compare(b.Pos) })
	return c.changes
}

// comparison gathers the changes.
type comparison struct {
	old, new *spec.Spec
	changes  []Change
	seen     map[pair]bool
}

func (c *comparison) add(rule Rule, pos spec.Pos, format string, args ...any) {
	c.changes = append(c.changes, Change{pos, rule, fmt.Sprintf(format, args...)})
}

// top is the place of what has none.
func (c *comparison) top() spec.Pos { return spec.Pos{File: c.new.Files[0], Line: 1, Col: 1} }
