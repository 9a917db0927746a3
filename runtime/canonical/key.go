package canonical

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
)

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

// Key returns the idempotency key of an event: the SHA-256, as 64 lower-case
// hex digits, of the RFC 8785 text of an object with the members source, type
// and exactly one of
//
//   - "event": id, with ByEvent;
//   - "payload": body, with ByPayload, whose bytes are taken as they stand;
//   - "fields": an object of the members of body that the policy names, with
//     ByFields; their values are taken as they stand in body, and those that
//     are absent are left out.
//
// eventType is the name without a version: two versions of one fact are one
// event. Sender and receiver get the same key because they use the same body;
// neither encodes it again. body must be JSON text: with ByFields, which reads
// it, an error says where it is not; with ByPayload the caller has checked it.
func Key(source, eventType string, p Policy, id string, body []byte) (string, error) {
	var stack [512]byte
	var err error
	// The members' order: event, fields, payload, source, type.
	text := append(stack[:0], '{')
	h := sha256.New()
	switch p.Mode {
	case ByEvent:
		if id == "" {
			return "", faultless("idempotency key by event: the event has no id")
		}
		text = append(text, `"event":`...)
		if text, err = AppendString(text, id); err != nil {
			return "", Field("id", err)
		}
	case ByFields:
		text = append(text, `"fields":`...)
		if text, err = appendFields(text, p.Fields, body); err != nil {
			return "", err
		}
	case ByPayload:
		if len(body) == 0 {
			return "", faultless("idempotency key by payload: the payload is empty")
		}
		text = append(text, `"payload":`...)
		h.Write(text)
		h.Write(body)
		text = text[:0]
	default:
		return "", faultless("idempotency key: unknown mode " + strconv.Itoa(int(p.Mode)))
	}
	text = append(text, `,"source":`...)
	if text, err = AppendString(text, source); err != nil {
		return "", Field("source", err)
	}
	text = append(text, `,"type":`...)
	if text, err = AppendString(text, eventType); err != nil {
		return "", Field("type", err)
	}
	h.Write(append(text, '}'))
	var sum [sha256.Size]byte
	return hex.EncodeToString(h.Sum(sum[:0])), nil
}

// appendFields appends the object of the named members of body.
func appendFields(dst []byte, fields []string, body []byte) ([]byte, error) {
	if len(fields) == 0 {
		return dst, faultless("idempotency key by fields: the policy names none")
	}
	p, err := open(body, '{', "an object")
	if err != nil {
		return dst, err
	}
	type named struct {
		name  string
		value []byte
	}
	var stack [8]named
	found := stack[:0]
	var room [64]byte
	err = p.object(1, func(name text, value []byte) error {
		word := p.appendUnescaped(room[:0], name)
		for _, field := range fields {
			if string(word) == field {
				found = append(found, named{field, value})
				break
			}
		}
		return nil
	})
	if err == nil {
		err = p.finish()
	}
	if err != nil {
		return dst, err
	}
	slices.SortFunc(found, func(a, b named) int { return compare(a.name, b.name) })
	dst = append(dst, '{')
	for i, f := range found {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = AppendString(dst, f.name); err != nil {
			return dst, Field(f.name, err)
		}
		dst = append(dst, ':')
		dst = append(dst, f.value...)
	}
	return append(dst, '}'), nil
}
