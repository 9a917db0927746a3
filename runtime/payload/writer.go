package payload

import (
	"slices"
	"sync"

	"github.com/outboxgen/outboxgen/runtime/canonical"
)

// maxDepth bounds the nesting of recursive values, which can be endless when a
// pointer leads back to its owner.
const maxDepth = 900

// Writer writes one value as RFC 8785 text. Generated code uses it: [NewWriter],
// then values, then Close. Members must come in canonical order; the writer adds
// the commas.
type Writer struct {
	trail
	dst []byte // what the text is appended to in the end
	buf []byte // the text so far; kept for the next use
	// keys holds the sorted keys of the maps that are open, innermost last.
	keys []string
}

// What one large value may make a writer keep.
const (
	maxPooledBytes = 1 << 16
	maxPooledKeys  = 1 << 10
)

var writers = sync.Pool{New: func() any { return new(Writer) }}

// NewWriter returns a writer that appends to dst.
func NewWriter(dst []byte) *Writer {
	w := writers.Get().(*Writer)
	w.dst = dst
	return w
}

// Close ends the writing and returns dst with the value, which takes one
// allocation at most; or dst as it was and every violation. The writer must
// not be used afterwards.
func (w *Writer) Close() ([]byte, error) {
	dst, err := w.dst, w.err()
	if err == nil {
		dst = append(dst, w.buf...)
	}
	*w = Writer{buf: w.buf[:0], keys: w.keys[:0], trail: trail{steps: w.steps[:0]}}
	if cap(w.buf) <= maxPooledBytes && cap(w.keys) <= maxPooledKeys {
		writers.Put(w)
	}
	return dst, err
}

// Object opens an object.
func (w *Writer) Object() {
	w.buf = append(w.buf, '{')
	w.open(len(w.keys))
}

// EndObject closes the innermost object.
func (w *Writer) EndObject() {
	from := w.close().keys
	clear(w.keys[from:])
	w.keys = w.keys[:from]
	w.buf = append(w.buf, '}')
}

// Array opens an array.
func (w *Writer) Array() {
	w.buf = append(w.buf, '[')
	w.open(len(w.keys))
}

// EndArray closes the innermost array.
func (w *Writer) EndArray() {
	w.close()
	w.buf = append(w.buf, ']')
}

// Member begins a member of the innermost object. encoded is its name as a
// canonical JSON string with the colon: `"name":`.
func (w *Writer) Member(encoded string) *Writer {
	w.at(atEncodedName, encoded, 0)
	w.separate('{')
	w.buf = append(w.buf, encoded...)
	return w
}

// Key begins a member whose name is not known before, of a map.
func (w *Writer) Key(name string) *Writer {
	w.at(atName, name, 0)
	w.separate('{')
	var err error
	if w.buf, err = canonical.AppendString(w.buf, name); err != nil {
		w.fail(err)
	}
	w.buf = append(w.buf, ':')
	return w
}

// Element begins element i of the innermost array.
func (w *Writer) Element(i int) *Writer {
	w.at(atIndex, "", i)
	w.separate('[')
	return w
}

// separate writes a comma unless the innermost object or array has just been
// opened. No value ends in a bracket that opens.
func (w *Writer) separate(open byte) {
	if w.buf[len(w.buf)-1] != open {
		w.buf = append(w.buf, ',')
	}
}

// TooDeep reports, and records as a violation, that the value is nested too
// deeply. A recursive type asks it before it opens an object.
func (w *Writer) TooDeep() bool {
	if len(w.steps) < maxDepth {
		return false
	}
	w.failf("is nested more than %d levels deep", maxDepth)
	return true
}

// Keys returns the keys of m in canonical order. They are valid until the
// innermost object, which they are for, is closed.
func Keys[V any](w *Writer, m map[string]V) []string {
	from := len(w.keys)
	for k := range m {
		w.keys = append(w.keys, k)
	}
	keys := w.keys[from:]
	slices.SortFunc(keys, compareNames)
	return keys
}

func compareNames(a, b string) int {
	switch {
	case canonical.Less(a, b):
		return -1
	case canonical.Less(b, a):
		return 1
	}
	return 0
}
