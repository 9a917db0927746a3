package outbox

import "encoding/json"

// Optional is a field that may be absent, null, or a value: three states that
// a pointer cannot tell apart. The zero Optional is absent; with encoding/json
// give the field the option omitzero, so that absent writes nothing.
type Optional[T any] struct {
	value T
	state optionalState
}

type optionalState uint8

const (
	absent optionalState = iota
	null
	present
)

// Some is a present value.
func Some[T any](v T) Optional[T] { return Optional[T]{value: v, state: present} }

// Null is a present null.
func Null[T any]() Optional[T] { return Optional[T]{state: null} }

// Get is the value, and whether there is one (it is neither absent nor null).
func (o Optional[T]) Get() (T, bool) { return o.value, o.state == present }

// IsSet reports that the field is written: with a value or with null.
func (o Optional[T]) IsSet() bool { return o.state != absent }

// IsNull reports that the field is written as null.
func (o Optional[T]) IsNull() bool { return o.state == null }

// IsZero reports that the field is absent; encoding/json's omitzero asks it.
func (o Optional[T]) IsZero() bool { return o.state == absent }

// MarshalJSON writes the value, or null when there is none.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if o.state != present {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON reads a value or null. encoding/json does not call it for an
// absent field.
func (o *Optional[T]) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		*o = Null[T]()
		return nil
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	*o = Some(v)
	return nil
}
