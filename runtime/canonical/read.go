package canonical

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Object reads the JSON object raw and calls member for each of its members,
// in the order of the text. value is a part of raw without white space around
// it, already checked: syntax, UTF-8, nesting (at most 2000 levels), names
// that are there twice, at every depth. A name that is there twice in raw
// itself is found at the end, when member has seen both. An error of member
// ends the reading and comes back wrapped by [Field].
func Object(raw []byte, member func(name string, value []byte) error) error {
	p, err := open(raw, '{', "an object")
	if err != nil {
		return err
	}
	each := func(name text, value []byte) error { return member(p.unescape(name), value) }
	if err := p.object(1, each); err != nil {
		return err
	}
	return p.finish()
}

// Array reads the JSON array raw and calls element for each of its elements.
// What is said of [Object] holds; an error of element comes back wrapped by
// [Index].
func Array(raw []byte, element func(i int, value []byte) error) error {
	p, err := open(raw, '[', "an array")
	if err != nil {
		return err
	}
	if err := p.array(1, element); err != nil {
		return err
	}
	return p.finish()
}

// open returns a parser for raw, whose value must begin with first.
func open(raw []byte, first byte, want string) (parser, error) {
	p := parser{raw: raw, maxDepth: maxReadDepth}
	if err := p.size(); err != nil {
		return p, err
	}
	p.space()
	if p.pos >= len(raw) {
		return p, p.unexpected(want)
	}
	if c := raw[p.pos]; c != first {
		if have := kind(c); have != "" {
			return p, faultless(have + " where " + want + " is expected")
		}
		return p, p.unexpected(want)
	}
	return p, nil
}

// kind names the kind of value that begins with c, or "".
func kind(c byte) string {
	switch {
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case c == 't' || c == 'f':
		return "a boolean"
	case c == 'n':
		return "null"
	case c == '-' || '0' <= c && c <= '9':
		return "a number"
	}
	return ""
}

// IsNull reports whether raw is null, with or without white space around it.
func IsNull(raw []byte) bool { return string(bytes.Trim(raw, " \t\r\n")) == "null" }

// ParseString reads a JSON string.
func ParseString(raw []byte) (string, error) {
	b, err := content(raw)
	return string(b), err
}

// content returns the characters of the JSON string raw: a part of it when
// nothing is escaped.
func content(raw []byte) ([]byte, error) {
	p, err := open(raw, '"', "a string")
	if err != nil {
		return nil, err
	}
	t, err := p.str()
	if err != nil {
		return nil, err
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	if !t.escaped {
		return raw[t.from:t.end], nil
	}
	return p.appendUnescaped(make([]byte, 0, t.end-t.from), t), nil
}

// ParseBool reads true or false.
func ParseBool(raw []byte) (bool, error) {
	switch word := string(bytes.Trim(raw, " \t\r\n")); word {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	p := parser{raw: raw}
	if p.space(); p.pos < len(raw) {
		if have := kind(raw[p.pos]); have != "" && have != "a boolean" {
			return false, faultless(have + " where a boolean is expected")
		}
	}
	return false, p.unexpected("true or false")
}

// numeral returns the text of the JSON number raw, and whether it is an
// integer literal.
func numeral(raw []byte) (lit string, integer bool, err error) {
	p := parser{raw: raw}
	p.space()
	if p.pos >= len(raw) || kind(raw[p.pos]) != "a number" {
		if p.pos < len(raw) && kind(raw[p.pos]) != "" {
			return "", false, faultless(kind(raw[p.pos]) + " where a number is expected")
		}
		return "", false, p.unexpected("a number")
	}
	from := p.pos
	integer, ok := p.numeral()
	if !ok {
		return "", false, p.unexpected("a digit")
	}
	end := p.pos
	if err := p.finish(); err != nil {
		return "", false, err
	}
	return string(raw[from:end]), integer, nil
}

// ParseInt reads a JSON number that AppendInt could have written: an integer
// literal within ±MaxInt.
func ParseInt(raw []byte) (int64, error) {
	lit, integer, err := numeral(raw)
	if err != nil {
		return 0, err
	}
	if !integer {
		return 0, faultless("number " + clip(lit) + " is not an integer")
	}
	v, err := strconv.ParseInt(lit, 10, 64)
	if err != nil || v > MaxInt || v < -MaxInt {
		return 0, faultless("integer " + clip(lit) + " is outside ±(2^53−1)")
	}
	return v, nil
}

// ParseInt64 reads a JSON string that AppendInt64 could have written: the
// decimal digits of a 64-bit integer, without a plus sign or leading zeros.
func ParseInt64(raw []byte) (int64, error) {
	b, err := content(raw)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, faultless("integer " + clip(string(b)) + " is outside 64 bits")
	}
	var buf [24]byte
	if err != nil || !bytes.Equal(strconv.AppendInt(buf[:0], v, 10), b) {
		return 0, faultless("string " + strconv.QuoteToASCII(clip(string(b))) + " is not a decimal integer")
	}
	return v, nil
}

// ParseFloat reads a JSON number. One beyond the range of a double is an
// error; negative zero is 0.
func ParseFloat(raw []byte) (float64, error) {
	lit, _, err := numeral(raw)
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil {
		return 0, faultless("number " + clip(lit) + " is beyond the range of a double")
	}
	if f == 0 {
		return 0, nil
	}
	return f, nil
}

// ParseTime reads a JSON string in RFC 3339, of any offset and with at most
// nine digits of a second, and returns the instant in UTC.
func ParseTime(raw []byte) (time.Time, error) {
	b, err := content(raw)
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil || !isRFC3339(b) {
		return time.Time{}, faultless("string " + strconv.QuoteToASCII(clip(string(b))) + " is not a time as in RFC 3339, like 2026-01-31T09:30:00Z")
	}
	return t.UTC(), nil
}

// isRFC3339 refuses what time.Parse takes beyond RFC 3339, section 5.6: one
// digit for the hour, a comma before the fraction, offsets of 24 hours and
// more; and fractions that a time.Time does not hold.
func isRFC3339(b []byte) bool {
	const seconds = len("2026-01-31T09:30:00")
	if len(b) <= seconds || b[13] != ':' {
		return false
	}
	rest := b[seconds:]
	if rest[0] == ',' {
		return false
	}
	if rest[0] == '.' {
		rest = bytes.TrimLeft(rest[1:], "0123456789")
		if digits := len(b) - seconds - 1 - len(rest); digits > 9 {
			return false
		}
	}
	if len(rest) != len("+05:30") {
		return string(rest) == "Z"
	}
	return string(rest[1:3]) < "24" && string(rest[4:6]) < "60"
}

// ParseDuration reads a JSON string that [time.ParseDuration] understands.
func ParseDuration(raw []byte) (time.Duration, error) {
	b, err := content(raw)
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(string(b))
	if err != nil {
		return 0, faultless("string " + strconv.QuoteToASCII(clip(string(b))) + " is not a duration, like 1h30m")
	}
	return d, nil
}

// ParseBytes reads a JSON string in standard base64 with padding, in its one
// spelling. An empty string gives an empty slice that is not nil.
func ParseBytes(raw []byte) ([]byte, error) {
	s, err := ParseString(raw)
	if err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return nil, faultless("string is not standard base64 with padding")
	}
	return b, nil
}
