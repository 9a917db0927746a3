package canonical

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// MaxInt is the largest integer that AppendInt writes, 2^53−1; the smallest
// is −MaxInt. Within that range every reader that puts numbers into doubles
// sees the same value (RFC 7493, section 2.2).
const MaxInt = 1<<53 - 1

// plain reports whether c is a whole character that stands for itself in a
// JSON string.
func plain(c byte) bool { return c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' }

// AppendString appends s as a JSON string (RFC 8785, section 3.2.2.2).
// Invalid UTF-8 is an error.
func AppendString(dst []byte, s string) ([]byte, error) {
	n := len(dst)
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain(c) {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				return dst[:n], fault(i, "invalid UTF-8")
			}
			i += size
			continue
		}
		dst = append(dst, s[done:i]...)
		dst = appendEscape(dst, c)
		i++
		done = i
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"'), nil
}

// appendEscape appends the escape of a quote, a backslash or a control
// character below U+0020.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
}

// AppendInt appends v as a JSON number. A value outside ±MaxInt is an error.
func AppendInt(dst []byte, v int64) ([]byte, error) {
	if v > MaxInt || v < -MaxInt {
		return dst, faultless("integer " + strconv.FormatInt(v, 10) + " is outside ±(2^53−1); use int64, which is written as a string")
	}
	return strconv.AppendInt(dst, v, 10), nil
}

// AppendInt64 appends v as a JSON string of decimal digits, so that no reader
// rounds it.
func AppendInt64(dst []byte, v int64) []byte {
	dst = append(dst, '"')
	dst = strconv.AppendInt(dst, v, 10)
	return append(dst, '"')
}

// AppendFloat appends f as ECMAScript writes it (RFC 8785, section 3.2.2.3):
// the fewest digits that lead back to f, in exponent form below 1e-6 and from
// 1e21 on; negative zero is 0. NaN and infinities are errors.
func AppendFloat(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, faultless("number is " + strconv.FormatFloat(f, 'g', -1, 64) + ", which JSON cannot hold")
	}
	return appendNumber(dst, f), nil
}

func appendNumber(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	if abs <= MaxInt {
		if i := int64(f); float64(i) == f {
			return strconv.AppendInt(dst, i, 10)
		}
	}
	if abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go writes at least two digits of exponent, ECMAScript as few as needed.
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// AppendBool appends true or false.
func AppendBool(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

// AppendTime appends t as a JSON string in RFC 3339, in UTC with the letter Z
// and no more digits of a second than needed: one text for one instant. The
// year in UTC must be from 0000 to 9999.
func AppendTime(dst []byte, t time.Time) ([]byte, error) {
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return dst, faultless("year " + strconv.Itoa(y) + " is outside 0000 to 9999")
	}
	dst = append(dst, '"')
	dst = t.AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"'), nil
}

// AppendDuration appends d as a JSON string of Go's duration text: "1h30m0s".
func AppendDuration(dst []byte, d time.Duration) []byte {
	dst = append(dst, '"')
	dst = append(dst, d.String()...)
	return append(dst, '"')
}

// AppendBytes appends b as a JSON string in standard base64 with padding
// (RFC 4648, section 4).
func AppendBytes(dst, b []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"')
}
