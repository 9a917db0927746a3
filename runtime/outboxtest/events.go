package outboxtest

import (
	"encoding/json"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// Events decodes the records of one event type into its generated struct E,
// in order, with the struct's own strict UnmarshalJSON. eventType is the
// name in the spec; records of other types are passed over, and so a slip in
// it shows as none. All versions of a type have one name: where records has
// several, pass those of E's version (outbox.Record.Version). A record that does
// not decode fails the test.
//
//	created := outboxtest.Events[events.OrderCreated](t, recorder.Emitted(tx), "order.created")
func Events[E any](tb testing.TB, records []outbox.Record, eventType string) []E {
	tb.Helper()
	var decoded []E
	for i, rec := range records {
		if rec.Type != eventType {
			continue
		}
		var e E
		if err := json.Unmarshal(rec.Payload, &e); err != nil {
			tb.Fatalf("outboxtest: record %d (%s@%d, id %s) does not decode as %T: %v", i, rec.Type, rec.Version, rec.ID, e, err)
		}
		decoded = append(decoded, e)
	}
	return decoded
}
