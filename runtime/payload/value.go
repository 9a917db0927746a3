package payload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// Value is a JSON value to read, or the absence of one. What is wrong with it
// is kept for the error of [Unmarshal], and reads as a zero value; so does an
// absent one.
type Value struct {
	t   *trail
	raw []byte // nil: absent
}

// Unmarshal reads data into the value that into points to, with a read
// function of generated code. When anything is wrong the error names every
// fault, and into is left alone.
func Unmarshal[T any](data []byte, into *T, read func(Value) T) error {
	if data == nil {
		data = []byte{}
	}
	t := new(trail)
	v := read(Value{t, data})
	if err := t.err(); err != nil {
		return err
	}
	*into = v
	return nil
}

// OrNull makes null an absent value.
func (v Value) OrNull() Value {
	if v.raw != nil && canonical.IsNull(v.raw) {
		v.raw = nil
	}
	return v
}

func scalar[T any](v Value, parse func([]byte) (T, error)) T {
	var zero T
	if v.raw == nil {
		return zero
	}
	x, err := parse(v.raw)
	if err != nil {
		v.t.fail(err)
		return zero
	}
	return x
}

// String reads a string.
func (v Value) String() string { return scalar(v, canonical.ParseString) }

// Bool reads true or false.
func (v Value) Bool() bool { return scalar(v, canonical.ParseBool) }

// Int reads an integer within ±(2^53−1).
func (v Value) Int() int64 { return scalar(v, canonical.ParseInt) }

// Int64 reads a string of decimal digits.
func (v Value) Int64() int64 { return scalar(v, canonical.ParseInt64) }

// Float reads a number.
func (v Value) Float() float64 { return scalar(v, canonical.ParseFloat) }

// Time reads an RFC 3339 time.
func (v Value) Time() time.Time { return scalar(v, canonical.ParseTime) }

// Date reads a date like 2026-01-31.
func (v Value) Date() outbox.Date {
	return scalar(v, func(raw []byte) (outbox.Date, error) {
		s, err := canonical.ParseString(raw)
		if err != nil {
			return outbox.Date{}, err
		}
		d, err := outbox.ParseDate(s)
		if err != nil {
			return outbox.Date{}, fmt.Errorf("string %s is not a date, like 2026-01-31", clip(s))
		}
		return d, nil
	})
}

// Duration reads a duration in Go's text.
func (v Value) Duration() time.Duration { return scalar(v, canonical.ParseDuration) }

// UUID reads the 36 characters of a UUID.
func (v Value) UUID() uuid.UUID {
	return scalar(v, func(raw []byte) (uuid.UUID, error) {
		s, err := canonical.ParseString(raw)
		if err != nil {
			return uuid.UUID{}, err
		}
		u, err := uuid.Parse(s)
		if err != nil || len(s) != 36 {
			return uuid.UUID{}, fmt.Errorf("string %s is not a UUID", clip(s))
		}
		return u, nil
	})
}

// Bytes reads base64. It is nil only when the value is absent.
func (v Value) Bytes() []byte {
	b := scalar(v, canonical.ParseBytes)
	if b == nil && v.raw != nil {
		b = []byte{}
	}
	return b
}

// JSON copies any JSON value, null too, as it stands.
func (v Value) JSON() json.RawMessage { return bytes.Clone(v.raw) }

// Object is a JSON object to read. Ask it for every member of the type, then
// call End.
type Object struct {
	t       *trail
	known   []string // the names asked for
	members []member
	next    int // where the search for a member begins
	silent  bool
}

type member struct {
	name  string
	raw   []byte
	asked bool
}

// Object reads an object.
func (v Value) Object() *Object {
	o := &Object{t: v.t, silent: v.raw == nil}
	if !o.silent {
		err := canonical.Object(v.raw, func(name string, value []byte) error {
			o.members = append(o.members, member{name: name, raw: value})
			return nil
		})
		if err != nil {
			v.t.fail(err)
			o.silent = true
		}
	}
	o.t.open(0)
	return o
}

// Required is the member of that name; one that is missing is a fault.
func (o *Object) Required(name string) Value {
	v := o.Optional(name)
	if v.raw == nil && !o.silent {
		o.t.failf("is missing")
	}
	return v
}

// Optional is the member of that name, or an absent value.
func (o *Object) Optional(name string) Value {
	o.t.at(atName, name, 0)
	if o.silent {
		return Value{t: o.t}
	}
	o.known = append(o.known, name)
	// Generated code asks in canonical order, and canonical text has it: the
	// next one is nearly always the one.
	for range o.members {
		if o.next == len(o.members) {
			o.next = 0
		}
		m := &o.members[o.next]
		o.next++
		if m.name == name {
			m.asked = true
			return Value{o.t, m.raw}
		}
	}
	return Value{t: o.t}
}

// End reports members that nobody asked for and whose names differ from a
// known one only by case: to ignore them would lose what they say, and readers
// that do not mind the case would take them for the member.
func (o *Object) End() {
	o.t.at(nowhere, "", 0)
	if !o.silent {
		for _, m := range o.members {
			if !m.asked {
				o.refuseVariant(m.name)
			}
		}
	}
	o.t.close()
}

func (o *Object) refuseVariant(name string) {
	for _, known := range o.known {
		if strings.EqualFold(name, known) {
			o.t.failf("member %s differs from %s only by case", clip(name), clip(known))
			return
		}
	}
}
