package payload

import (
	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// List reads an array, each element with read. It is nil only when the value
// is absent.
func List[T any](v Value, read func(Value) T) []T {
	if v.raw == nil {
		return nil
	}
	list := []T{}
	v.t.open(0)
	err := canonical.Array(v.raw, func(i int, raw []byte) error {
		v.t.at(atIndex, "", i)
		x := read(Value{v.t, raw})
		if len(v.t.faults) == 0 {
			list = append(list, x)
		}
		return nil
	})
	v.t.close()
	if err != nil {
		v.t.fail(err)
	}
	return list
}

// Map reads an object as a map, each member with read. It is nil only when
// the value is absent.
func Map[T any](v Value, read func(Value) T) map[string]T {
	if v.raw == nil {
		return nil
	}
	m := map[string]T{}
	v.t.open(0)
	err := canonical.Object(v.raw, func(name string, raw []byte) error {
		v.t.at(atName, name, 0)
		m[name] = read(Value{v.t, raw})
		return nil
	})
	v.t.close()
	if err != nil {
		v.t.fail(err)
	}
	return m
}

// Pointer reads a value that may be absent; it is then nil.
func Pointer[T any](v Value, read func(Value) T) *T {
	if v.raw == nil {
		return nil
	}
	x := read(v)
	return &x
}

// Optional reads a value that may be absent or null.
func Optional[T any](v Value, read func(Value) T) outbox.Optional[T] {
	switch {
	case v.raw == nil:
		return outbox.Optional[T]{}
	case canonical.IsNull(v.raw):
		return outbox.Null[T]()
	}
	return outbox.Some(read(v))
}
