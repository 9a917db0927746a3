package sqlite

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// candidate is a delivery with its event. The queries that yield it have the
// same columns.
type candidate sqlitedb.DueRow

func candidates[R sqlitedb.DueRow | sqlitedb.DueUntriedRow | sqlitedb.DueByRetriesRow | sqlitedb.FollowersRow | sqlitedb.SuspectsRow](rows []R) []candidate {
	cs := make([]candidate, len(rows))
	for i, r := range rows {
		cs[i] = candidate(r)
	}
	return cs
}

// event reads the event's columns. An id that is none yields the zero UUID:
// unfit has sorted it out.
func (r candidate) event() outbox.Event {
	e := outbox.Event{
		Seq:            r.Seq,
		Type:           r.EventType,
		Version:        int(r.SchemaVersion),
		Payload:        []byte(r.PayloadJson),
		IdempotencyKey: r.IdempotencyKey,
		CreatedAt:      when(r.CreatedAt),
	}
	e.ID, _ = uuid.Parse(r.ID)
	if r.OrderingKey != nil {
		e.OrderingKey = *r.OrderingKey
	}
	if r.HeadersJson != nil {
		_ = json.Unmarshal([]byte(*r.HeadersJson), &e.Trace) // a trace that cannot be read is none
	}
	return e
}
