package payload

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// append keeps what an append function of package canonical returns.
func (w *Writer) append(dst []byte, err error) {
	w.buf = dst
	if err != nil {
		w.fail(err)
	}
}

// Null writes null.
func (w *Writer) Null() { w.buf = append(w.buf, "null"...) }

// Bool writes true or false.
func (w *Writer) Bool(v bool) { w.buf = canonical.AppendBool(w.buf, v) }

// String writes a string; invalid UTF-8 is a violation.
func (w *Writer) String(s string) Text {
	w.append(canonical.AppendString(w.buf, s))
	return Text{w, s}
}

// Int writes a number; one outside ±(2^53−1) is a violation.
func (w *Writer) Int(v int64) Number[int64] {
	w.append(canonical.AppendInt(w.buf, v))
	return Number[int64]{w, v}
}

// Int64 writes a string of decimal digits.
func (w *Writer) Int64(v int64) Number[int64] {
	w.buf = canonical.AppendInt64(w.buf, v)
	return Number[int64]{w, v}
}

// Float writes a number; NaN and the infinities are violations.
func (w *Writer) Float(v float64) Number[float64] {
	w.append(canonical.AppendFloat(w.buf, v))
	return Number[float64]{w, v}
}

// Duration writes Go's text of a duration: "1h30m0s".
func (w *Writer) Duration(d time.Duration) Number[time.Duration] {
	w.buf = canonical.AppendDuration(w.buf, d)
	return Number[time.Duration]{w, d}
}

// Time writes an instant in UTC (RFC 3339); a year that four digits cannot
// write is a violation.
func (w *Writer) Time(t time.Time) Instant {
	w.append(canonical.AppendTime(w.buf, t))
	return Instant{w, t}
}

// Date writes a day: "2026-01-31". A day that does not exist is a violation.
func (w *Writer) Date(d outbox.Date) Day {
	w.append(d.AppendCanonical(w.buf))
	return Day{w, d}
}

// UUID writes the 36 characters of RFC 9562, in small letters.
func (w *Writer) UUID(u uuid.UUID) {
	w.buf = append(w.buf, '"')
	for i, part := range [...][]byte{u[:4], u[4:6], u[6:8], u[8:10], u[10:]} {
		if i > 0 {
			w.buf = append(w.buf, '-')
		}
		w.buf = hex.AppendEncode(w.buf, part)
	}
	w.buf = append(w.buf, '"')
}

// Bytes writes base64 with padding.
func (w *Writer) Bytes(b []byte) Blob {
	w.buf = canonical.AppendBytes(w.buf, b)
	return Blob{w, len(b)}
}

// JSON writes any JSON text in canonical form. No text at all, a name that is
// there twice, and what RFC 8785 cannot hold are violations.
func (w *Writer) JSON(raw json.RawMessage) {
	if len(raw) == 0 {
		w.failf("is empty: it needs a JSON text, be it null")
		return
	}
	w.append(canonical.AppendJSON(w.buf, raw))
}

// Enum writes the text of an enum; one that is not Valid is a violation, which
// says what it could be: "web, phone".
func Enum[E interface {
	~string
	Valid() bool
}](w *Writer, v E, values string) {
	w.append(canonical.AppendString(w.buf, string(v)))
	if !v.Valid() {
		w.failf("%s is not one of %s", clip(string(v)), values)
	}
}

// clip quotes a text for a message, shortened.
func clip(s string) string {
	const longest = 40
	if len(s) > longest {
		return strconv.Quote(s[:longest]) + "…"
	}
	return strconv.Quote(s)
}
