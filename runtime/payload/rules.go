package payload

import (
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// Text is a string that has been written; its methods check rules on it.
type Text struct {
	w *Writer
	s string
}

// MinLength asks for at least n characters (Unicode code points).
func (t Text) MinLength(n int) Text {
	if have := utf8.RuneCountInString(t.s); have < n {
		t.w.failf("has %s, fewer than %d", count(have, "character"), n)
	}
	return t
}

// MaxLength asks for at most n characters (Unicode code points).
func (t Text) MaxLength(n int) Text {
	// A character is at least a byte.
	if len(t.s) <= n {
		return t
	}
	if have := utf8.RuneCountInString(t.s); have > n {
		t.w.failf("has %s, more than %d", count(have, "character"), n)
	}
	return t
}

// Pattern asks for a match anywhere in the text.
func (t Text) Pattern(re *regexp.Regexp) Text {
	if !re.MatchString(t.s) {
		t.w.failf("does not match the pattern %s", clip(re.String()))
	}
	return t
}

// Format asks for a text of the format.
func (t Text) Format(f Format) Text {
	if !f.Matches(t.s) {
		t.w.failf("is not %s", f.description())
	}
	return t
}

// Number is a number or a duration that has been written; its methods check
// rules on it.
type Number[T ~int64 | ~float64] struct {
	w *Writer
	v T
}

// Min asks for at least n.
func (v Number[T]) Min(n T) Number[T] {
	if v.v < n {
		v.w.failf("is %v, less than %v", v.v, n)
	}
	return v
}

// Max asks for at most n.
func (v Number[T]) Max(n T) Number[T] {
	if v.v > n {
		v.w.failf("is %v, more than %v", v.v, n)
	}
	return v
}

// Instant is a time that has been written; its methods check rules on it.
type Instant struct {
	w *Writer
	t time.Time
}

// Min asks for no instant before t.
func (i Instant) Min(t time.Time) Instant {
	if i.t.Before(t) {
		i.w.failf("is %s, before %s", instantText(i.t), instantText(t))
	}
	return i
}

// Max asks for no instant after t.
func (i Instant) Max(t time.Time) Instant {
	if i.t.After(t) {
		i.w.failf("is %s, after %s", instantText(i.t), instantText(t))
	}
	return i
}

func instantText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Day is a date that has been written; its methods check rules on it.
type Day struct {
	w *Writer
	d outbox.Date
}

// Min asks for no day before d.
func (v Day) Min(d outbox.Date) Day {
	if dayNumber(v.d) < dayNumber(d) {
		v.w.failf("is %s, before %s", v.d, d)
	}
	return v
}

// Max asks for no day after d.
func (v Day) Max(d outbox.Date) Day {
	if dayNumber(v.d) > dayNumber(d) {
		v.w.failf("is %s, after %s", v.d, d)
	}
	return v
}

// dayNumber orders dates; both are valid, or a violation is recorded already.
func dayNumber(d outbox.Date) int { return (d.Year*100+int(d.Month))*100 + d.Day }

// Blob is bytes that have been written; its methods check rules on them.
type Blob struct {
	w *Writer
	n int
}

// MinLength asks for at least n bytes.
func (b Blob) MinLength(n int) Blob {
	if b.n < n {
		b.w.failf("has %s, fewer than %d", count(b.n, "byte"), n)
	}
	return b
}

// MaxLength asks for at most n bytes.
func (b Blob) MaxLength(n int) Blob {
	if b.n > n {
		b.w.failf("has %s, more than %d", count(b.n, "byte"), n)
	}
	return b
}

// Size is how many elements the list or map has that is written next.
type Size struct {
	w *Writer
	n int
}

// Size returns the number of elements of the list or map that is written
// next, to check rules on it.
func (w *Writer) Size(n int) Size { return Size{w, n} }

// Min asks for at least n elements.
func (s Size) Min(n int) Size {
	if s.n < n {
		s.w.failf("has %s, fewer than %d", count(s.n, "item"), n)
	}
	return s
}

// Max asks for at most n elements.
func (s Size) Max(n int) Size {
	if s.n > n {
		s.w.failf("has %s, more than %d", count(s.n, "item"), n)
	}
	return s
}
