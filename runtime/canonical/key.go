package canonical

// Mode says what an event's idempotency key is made of.
type Mode int

const (
	ByEvent   Mode = iota + 1 // each insert is its own event
	ByPayload                 // equal payloads are one event
	ByFields                  // the named top-level members identify the fact
)

// Policy is an event type's idempotency decision.
type Policy struct {
	Mode   Mode
	Fields []string // with ByFields: wire names of top-level members
}
