package payload

import (
	"encoding"
	"encoding/json"
	"fmt"

	"github.com/outboxgen/outboxgen/runtime/canonical"
)

// A field of a user's own Go type (go_type in the spec) still has the type of
// the spec on the wire. The own type says how it is written: as JSON, by
// AppendCanonical and UnmarshalJSON, or as text, by MarshalText and
// UnmarshalText, which then stands in a JSON string. AppendCanonical wins where
// a type has both. Whether a type has them cannot be asked when code is
// generated, nor stated as a constraint; a type with neither is a violation.

type appender interface {
	AppendCanonical(dst []byte) ([]byte, error)
}

// ToWire turns a value of an own type, by a pointer to it, into the Go value
// that the spec's type has, which the writer then writes. read reads the
// spec's type.
func ToWire[T any](w *Writer, own any, read func(Value) T) T {
	raw, err := ownJSON(own)
	if err != nil {
		w.fail(err)
		return *new(T)
	}
	return read(Value{&w.trail, raw})
}

// FromWire reads a value of the own type Own. read reads the spec's type, to
// see that the value is one.
func FromWire[Own, T any](v Value, read func(Value) T) Own {
	var own Own
	if v.raw == nil {
		return own
	}
	before := len(v.t.faults)
	read(v)
	if len(v.t.faults) > before {
		return own
	}
	if err := readOwn(v.raw, &own); err != nil {
		v.t.fail(err)
	}
	return own
}

// OwnText is the text of an own type as an ordering key: the content of a JSON
// string, or the JSON of anything else.
func OwnText(own any) (string, error) {
	raw, err := ownJSON(own)
	if err != nil {
		return "", err
	}
	if s, err := canonical.ParseString(raw); err == nil {
		return s, nil
	}
	return string(raw), nil
}

func ownJSON(own any) ([]byte, error) {
	switch own := own.(type) {
	case appender:
		raw, err := own.AppendCanonical(nil)
		if err == nil && len(raw) == 0 {
			err = fmt.Errorf("%T.AppendCanonical wrote nothing", own)
		}
		return raw, err
	case encoding.TextMarshaler:
		text, err := own.MarshalText()
		if err != nil {
			return nil, err
		}
		return canonical.AppendString(nil, string(text))
	}
	return nil, fmt.Errorf("%T has neither AppendCanonical nor MarshalText", own)
}

func readOwn(raw []byte, own any) error {
	if _, ok := own.(appender); ok {
		u, ok := own.(json.Unmarshaler)
		if !ok {
			return fmt.Errorf("%T has AppendCanonical but not UnmarshalJSON", own)
		}
		return u.UnmarshalJSON(raw)
	}
	u, ok := own.(encoding.TextUnmarshaler)
	if !ok {
		return fmt.Errorf("%T has neither AppendCanonical and UnmarshalJSON nor UnmarshalText", own)
	}
	s, err := canonical.ParseString(raw)
	if err != nil {
		return err
	}
	return u.UnmarshalText([]byte(s))
}
