package spec

import "time"

// Spec is a checked spec: every name resolved, every default applied, in the
// order of the files. Emitters need nothing else.
type Spec struct {
	Package      string
	Source       string
	Doc          string
	Retention    time.Duration // of published events: how long a duplicate is recognised
	Destinations []*Destination
	Types        []*Type
	Events       []*Event
	Outputs      Outputs
	Files        []string // the spec and its includes, by the names under which Load read them
}

// Outputs names the optional outputs, as slash paths relative to the spec's
// folder; "" is off.
type Outputs struct {
	JSONSchema string // a folder: one 2020-12 schema per event
	AsyncAPI   string // a file
	Markdown   string // a file
}

// Pos is a place in a spec file, from 1.
type Pos struct {
	File      string
	Line, Col int
}

// Kind is what a destination is.
type Kind string

// The kinds of destination.
const (
	Webhook   Kind = "webhook"
	Handler   Kind = "handler"
	Publisher Kind = "publisher"
)

// Destination is a named place that events go to.
type Destination struct {
	Name        string
	GoName      string // Billing: WithBilling, BillingHandler, NewBillingReceiver
	Pos         Pos
	Doc         string
	Kind        Kind
	Timeout     time.Duration
	MaxInFlight int
	Retry       Retry
	MaxAge      time.Duration // 0: deliveries never expire
	Breaker     Breaker
	Webhook     *WebhookOptions // with Kind Webhook
}

// WebhookOptions keeps URL, Secrets and Headers as written: ${VAR} is read
// when the consumer's program starts.
type WebhookOptions struct {
	URL               string
	Secrets           []string
	Headers           []Header // sorted by name
	Allow             []string // CIDR ranges
	QuotedIdempotency bool     // Idempotency-Key as the IETF draft's structured-field string
}

// Header is a static header of a webhook. Name is canonical (X-Tenant).
type Header struct{ Name, Value string }

// Retry is a retry policy: Full Jitter from Base up to Cap.
type Retry struct {
	MaxAttempts int
	Base, Cap   time.Duration
}

// Breaker is a destination's circuit breaker; Off is none at all.
type Breaker struct {
	FailureThreshold int
	RecoveryTime     time.Duration
	HalfOpenMaxCalls int
	Off              bool
}

// Type is a named struct type or, with Enum, a named enum.
type Type struct {
	Name       string
	GoName     string
	Pos        Pos
	Doc        string
	Deprecated string // what to use instead; "": not deprecated
	Fields     []*Field
	Enum       []*EnumValue // not empty: the type is an enum
}

// Event is one version of an event type.
type Event struct {
	Name        string // wire type, without @N
	Version     int
	GoName      string // OrderCreated; OrderCreatedV1 for order.created@1
	Pos         Pos
	Doc         string
	Deprecated  string
	To          []*Route
	OrderingKey *Field // nil: none
	Idempotency Idempotency
	IgnoreDup   bool // on_duplicate: ignore
	Fields      []*Field
	Examples    []string // JSON texts
	Current     bool     // the newest version of its name
	// FileName is what a file of this event's own is called, without its
	// extension. It is unique even where case does not count.
	FileName string
}

// Route is one destination of an event.
type Route struct {
	Destination *Destination
	Hold        bool // on_dead_letter: hold
}

// Idempotency says what an event's key is made of.
type Idempotency struct {
	Mode   string   // event | payload | fields
	Fields []*Field // with mode fields, in the order of the spec
}

// Field is a member of an event or struct type, in the order of the file.
// Emitters sort by CanonicalLess(wire name) where order of bytes matters.
type Field struct {
	Name       string // wire name
	GoName     string
	Pos        Pos
	Doc        string
	Deprecated string
	Type       *TypeRef
	Optional   bool // may be absent
	Nullable   bool // may be null
	GoType     *GoType
	Rules      Rules
	Examples   []string // JSON texts
}

// Enum spells its values where it is used. Its Go type is named after the
// owner and the field (OrderCreatedChannel).
type Enum struct {
	GoName string
	Values []*EnumValue
}

// EnumValue is one value of an enum. Value may be any text, "" too.
type EnumValue struct {
	Value      string
	GoName     string // the constant: OrderCreatedChannelWeb
	Pos        Pos
	Doc        string
	Deprecated string
}

// GoType is a user's own Go type, from go_type: example.org/shop/ship.Carrier.
type GoType struct {
	ImportPath string
	Name       string
}

// Scalar names a scalar type of the language.
type Scalar string

// The scalar types.
const (
	String    Scalar = "string"
	Bool      Scalar = "bool"
	Float     Scalar = "float"
	Int       Scalar = "int"
	Int64     Scalar = "int64"
	Decimal   Scalar = "decimal"
	Timestamp Scalar = "timestamp"
	Date      Scalar = "date"
	Duration  Scalar = "duration"
	UUID      Scalar = "uuid"
	Bytes     Scalar = "bytes"
	JSON      Scalar = "json"
)

// TypeRef is exactly one of its fields.
type TypeRef struct {
	Scalar Scalar
	Named  *Type    // a named struct or enum
	Enum   *Enum    // an inline enum
	List   *Element // [T]
	Map    *Element // {string: T}
}

// Element is what a list or a map holds; it may be null ("T?" in a list).
type Element struct {
	Type     *TypeRef
	Nullable bool
	GoType   *GoType
	Rules    Rules
}

// Rules are constraints; nil pointers and empty strings are unset. Min and
// Max are texts of the field's own type (a decimal, a timestamp, …), checked.
type Rules struct {
	Min, Max             *string
	MinLength, MaxLength *int // Unicode code points; bytes for type bytes
	MinItems, MaxItems   *int // lists and maps
	Pattern              string
	Format               string // email | uri | hostname | ipv4 | ipv6
}
