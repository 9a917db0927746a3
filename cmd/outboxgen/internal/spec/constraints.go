package spec

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"time"
)

// MaxInt is the greatest value of type int, and -MaxInt the least: beyond it a
// reader that holds numbers as doubles loses digits.
const MaxInt = 1<<53 - 1

// rules reads the constraints of a value and checks that its type has them.
func (l *loader) rules(m mapping, ref *TypeRef) Rules {
	var rules Rules
	for _, key := range constraintKeys {
		e, ok := m.entries[key]
		switch {
		case !ok:
		case !hasConstraint(ref, key):
			l.errorf(e.key.pos(), ruleNotForType, constraintHint(key), "%s is %s, which has no %s", m.what, describeType(ref), key)
		default:
			l.rule(e.value, m.in(key), key, ref, &rules)
		}
	}
	l.ranges(m, ref.Scalar, rules)
	return rules
}

// hasConstraint is the table of which type has which constraint.
func hasConstraint(ref *TypeRef, key string) bool {
	switch key {
	case "min", "max":
		switch ref.Scalar {
		case Int, Int64, Float, Decimal, Timestamp, Date, Duration:
			return true
		}
	case "min_length", "max_length":
		return ref.Scalar == String || ref.Scalar == Bytes
	case "min_items", "max_items":
		return ref.List != nil || ref.Map != nil
	case "pattern", "format":
		return ref.Scalar == String
	}
	return false
}

func constraintHint(key string) string {
	switch key {
	case "min", "max":
		return "min and max are for numbers, times and durations; there are min_length and min_items"
	case "min_length", "max_length":
		return "the length is that of a string or bytes; a list or map has min_items and max_items"
	case "min_items", "max_items":
		return "items are those of a list or map; a string has min_length and max_length"
	}
	return "it is for type string"
}

func (l *loader) rule(n node, what, key string, ref *TypeRef, rules *Rules) {
	switch key {
	case "min":
		rules.Min = l.bound(n, what, ref.Scalar)
	case "max":
		rules.Max = l.bound(n, what, ref.Scalar)
	case "min_length":
		rules.MinLength = l.count(n, what)
	case "max_length":
		rules.MaxLength = l.count(n, what)
	case "min_items":
		rules.MinItems = l.count(n, what)
	case "max_items":
		rules.MaxItems = l.count(n, what)
	case "pattern":
		rules.Pattern = l.regexp(n, what)
	case "format":
		rules.Format, _ = l.word(n, what, formatNames...)
	}
}

func (l *loader) count(n node, what string) *int {
	if i, ok := l.integer(n, what, 0, maxLengthLimit); ok {
		return &i
	}
	return nil
}

func (l *loader) bound(n node, what string, s Scalar) *string {
	text, ok := l.filled(n, what)
	if !ok {
		return nil
	}
	if _, err := parseScalar(s, text); err != nil {
		l.errorf(n.pos(), ruleBadBound, scalarExample(s), "%s is %q, which is no %s: %v", what, text, s, err)
		return nil
	}
	return &text
}

func (l *loader) regexp(n node, what string) string {
	s, ok := l.filled(n, what)
	if !ok {
		return ""
	}
	if _, err := regexp.Compile(s); err != nil {
		l.errorf(n.pos(), ruleBadPattern, "the syntax is RE2: https://golang.org/s/re2syntax", "%s: %v", what, err)
		return ""
	}
	return s
}

// ranges reports a least value above the greatest.
func (l *loader) ranges(m mapping, s Scalar, rules Rules) {
	if rules.Min != nil && rules.Max != nil {
		low, _ := parseScalar(s, *rules.Min) // checked when read
		high, _ := parseScalar(s, *rules.Max)
		if low.Cmp(high) > 0 {
			l.emptyRange(m, "min", *rules.Min, *rules.Max)
		}
	}
	if a, b := rules.MinLength, rules.MaxLength; a != nil && b != nil && *a > *b {
		l.emptyRange(m, "min_length", strconv.Itoa(*a), strconv.Itoa(*b))
	}
	if a, b := rules.MinItems, rules.MaxItems; a != nil && b != nil && *a > *b {
		l.emptyRange(m, "min_items", strconv.Itoa(*a), strconv.Itoa(*b))
	}
}

func (l *loader) emptyRange(m mapping, key, low, high string) {
	n, _ := m.get(key)
	l.errorf(n.pos(), ruleBadRange, "", "%s: no value is from %s to %s", m.what, low, high)
}

var (
	intText     = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,19})$`)
	decimalText = regexp.MustCompile(`^-?[0-9]{1,100}(\.[0-9]{1,100})?$`)
	floatText   = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// parseScalar gives the place of a value of an ordered scalar type among its
// peers: numbers as they are, times and durations in nanoseconds.
func parseScalar(s Scalar, text string) (*big.Rat, error) {
	switch s {
	case Int, Int64:
		if !intText.MatchString(text) {
			return nil, errors.New("not a whole number")
		}
		i, err := strconv.ParseInt(text, 10, 64)
		if err != nil || s == Int && (i > MaxInt || i < -MaxInt) {
			return nil, errors.New("out of its range")
		}
		return new(big.Rat).SetInt64(i), nil
	case Decimal:
		if !decimalText.MatchString(text) {
			return nil, errors.New("not a decimal number without an exponent")
		}
		v, _ := new(big.Rat).SetString(text)
		return v, nil
	case Float:
		f, err := strconv.ParseFloat(text, 64)
		if !floatText.MatchString(text) || err != nil || math.IsInf(f, 0) {
			return nil, errors.New("not a finite number")
		}
		return new(big.Rat).SetFloat64(f), nil
	case Timestamp:
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return nil, errors.New("not an RFC 3339 time")
		}
		v := new(big.Rat).SetInt64(t.Unix())
		return v.Mul(v, big.NewRat(int64(time.Second), 1)).Add(v, new(big.Rat).SetInt64(int64(t.Nanosecond()))), nil
	case Date:
		t, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return nil, errors.New("not a date")
		}
		return new(big.Rat).SetInt64(t.Unix()), nil
	case Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, errors.New("not a duration")
		}
		return new(big.Rat).SetInt64(int64(d)), nil
	}
	return nil, fmt.Errorf("type %s has no order", s)
}

func scalarExample(s Scalar) string {
	switch s {
	case Int:
		return fmt.Sprintf("a whole number from -%d to %d", MaxInt, MaxInt)
	case Decimal:
		return "as in 0.01"
	case Float:
		return "as in 0.5 or 1e3"
	case Timestamp:
		return "as in 2026-01-31T12:00:00Z"
	case Date:
		return "as in 2026-01-31"
	case Duration:
		return "as in 90s"
	}
	return ""
}

// describeType shows a type in a message.
func describeType(ref *TypeRef) string {
	switch {
	case ref.Scalar != "":
		return "of type " + string(ref.Scalar)
	case ref.Named != nil:
		return "of type " + ref.Named.Name
	case ref.Enum != nil:
		return "an enum"
	case ref.List != nil:
		return "a list"
	}
	return "a map"
}

// CompareValues orders two values of an ordered scalar type by their texts, as
// min and max have them: -1, 0 or 1. A text that is no value comes first.
func CompareValues(s Scalar, a, b string) int {
	x, errX := parseScalar(s, a)
	y, errY := parseScalar(s, b)
	switch {
	case errX == nil && errY == nil:
		return x.Cmp(y)
	case errX == nil:
		return 1
	case errY == nil:
		return -1
	}
	return 0
}

// IsValue reports whether the text is a value of an ordered scalar type.
func IsValue(s Scalar, text string) bool {
	_, err := parseScalar(s, text)
	return err == nil
}
