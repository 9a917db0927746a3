// Package ship has a user's own types, of every kind that go_type takes.
package ship

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Carrier is a text type: it has MarshalText and UnmarshalText.
type Carrier struct{ name string }

// NewCarrier returns the carrier of that name.
func NewCarrier(name string) Carrier { return Carrier{name} }

// MarshalText implements encoding.TextMarshaler.
func (c Carrier) MarshalText() ([]byte, error) {
	if c.name == "" {
		return nil, errors.New("carrier without a name")
	}
	return []byte(c.name), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Carrier) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("carrier without a name")
	}
	c.name = string(text)
	return nil
}

// Cents is written as a number.
type Cents int64

// AppendCanonical makes it an own type that writes JSON.
func (c Cents) AppendCanonical(dst []byte) ([]byte, error) {
	return fmt.Appendf(dst, "%d", int64(c)), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Cents) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, (*int64)(c)) }

// Tags is written as any JSON, here as an object, by a pointer receiver.
type Tags struct{ Names []string }

// AppendCanonical writes members in no good order: the writer sorts them.
func (t *Tags) AppendCanonical(dst []byte) ([]byte, error) {
	return fmt.Appendf(dst, `{ "z": %q, "n": %d }`, strings.Join(t.Names, ","), len(t.Names)), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Tags) UnmarshalJSON(raw []byte) error {
	var v struct{ Z string }
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	t.Names = strings.Split(v.Z, ",")
	return nil
}

// Neither has none of the methods.
type Neither struct{}
