package payload

import (
	"bytes"
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/outboxgen/outboxgen/runtime/canonical"
)

// MaxDecimalDigits bounds the digits of a decimal on either side of the point.
// Without a bound a few characters, 1e999999999, stand for a gigabyte.
const MaxDecimalDigits = 500

// maxDecimalText bounds what is read as a decimal before it is looked at.
const maxDecimalText = 2*MaxDecimalDigits + 20

var errDecimalDigits = errors.New("has more than " + strconv.Itoa(MaxDecimalDigits) + " digits before or after the point")

// Decimal is a decimal that has been written; its methods check rules on it.
type Decimal struct {
	w    *Writer
	text []byte // canonical; nil when it could not be written
}

// DecimalInt64 writes coefficient·10^exponent as a string in the one spelling
// that AppendDecimal gives it.
func (w *Writer) DecimalInt64(coefficient int64, exponent int32) Decimal {
	var digits [20]byte
	return w.decimal(strconv.AppendInt(digits[:0], coefficient, 10), exponent)
}

// DecimalBig is DecimalInt64 for a coefficient of any size.
func (w *Writer) DecimalBig(coefficient *big.Int, exponent int32) Decimal {
	digits, err := decimalDigits(coefficient)
	if err != nil {
		w.fail(err)
		return Decimal{w: w}
	}
	return w.decimal(digits, exponent)
}

// decimalDigits refuses what is too long before it is turned into digits,
// which takes time that grows with the square of their number.
func decimalDigits(coefficient *big.Int) ([]byte, error) {
	const bitsPerDigit = 4 // 3.33, rounded up
	if coefficient.BitLen() > maxDecimalText*bitsPerDigit {
		return nil, errDecimalDigits
	}
	return coefficient.Append(nil, 10), nil
}

// DecimalText is the text that DecimalBig writes, without quotes.
func DecimalText(coefficient *big.Int, exponent int32) (string, error) {
	digits, err := decimalDigits(coefficient)
	if err != nil {
		return "", err
	}
	text, err := AppendDecimal(nil, digits, exponent)
	return string(text), err
}

func (w *Writer) decimal(digits []byte, exponent int32) Decimal {
	w.buf = append(w.buf, '"')
	from := len(w.buf)
	dst, err := AppendDecimal(w.buf, digits, exponent)
	if err != nil {
		w.fail(err)
		return Decimal{w: w}
	}
	w.buf = append(dst, '"')
	return Decimal{w, dst[from:]}
}

// Min asks for at least n, a canonical decimal.
func (d Decimal) Min(n string) Decimal {
	if d.text != nil && compareDecimals(d.text, n) < 0 {
		d.w.failf("is %s, less than %s", d.text, n)
	}
	return d
}

// Max asks for at most n, a canonical decimal.
func (d Decimal) Max(n string) Decimal {
	if d.text != nil && compareDecimals(d.text, n) > 0 {
		d.w.failf("is %s, more than %s", d.text, n)
	}
	return d
}

// AppendDecimal appends digits, a decimal integer with or without a minus
// sign, times 10^exponent: without an exponent, a plus sign, a needless zero or
// a point that nothing follows; zero is 0. Equal values give equal texts.
func AppendDecimal(dst, digits []byte, exponent int32) ([]byte, error) {
	digits, negative := bytes.CutPrefix(digits, []byte{'-'})
	digits = bytes.TrimLeft(digits, "0")
	significant := bytes.TrimRight(digits, "0")
	if len(significant) == 0 {
		return append(dst, '0'), nil
	}
	// The point stands after so many of the significant digits.
	point := int64(len(digits)) + int64(exponent)
	if point > MaxDecimalDigits || int64(len(significant))-point > MaxDecimalDigits {
		return dst, errDecimalDigits
	}
	if negative {
		dst = append(dst, '-')
	}
	n := int64(len(significant))
	switch {
	case point <= 0:
		dst = append(dst, "0."...)
		dst = appendZeros(dst, -point)
		return append(dst, significant...), nil
	case point >= n:
		dst = append(dst, significant...)
		return appendZeros(dst, point-n), nil
	}
	dst = append(dst, significant[:point]...)
	dst = append(dst, '.')
	return append(dst, significant[point:]...), nil
}

func appendZeros(dst []byte, n int64) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}

// ParseDecimal reads a decimal in any common spelling (-12.50, 1e3) as
// coefficient·10^exponent.
func ParseDecimal(s string) (coefficient *big.Int, exponent int32, err error) {
	digits, exponent, err := splitDecimal(s)
	if err != nil {
		return nil, 0, err
	}
	// One that cannot be written is not read either.
	if _, err := AppendDecimal(nil, digits, exponent); err != nil {
		return nil, 0, err
	}
	c, ok := new(big.Int).SetString(string(digits), 10)
	if !ok {
		return nil, 0, notDecimal(s)
	}
	return c, exponent, nil
}

// CanonicalDecimal returns the one spelling of a decimal that ParseDecimal
// reads.
func CanonicalDecimal(s string) (string, error) {
	digits, exponent, err := splitDecimal(s)
	if err != nil {
		return "", err
	}
	text, err := AppendDecimal(nil, digits, exponent)
	return string(text), err
}

// splitDecimal returns the digits of s without its point, and the exponent
// that they are to be taken with.
func splitDecimal(s string) (digits []byte, exponent int32, err error) {
	if len(s) > maxDecimalText {
		return nil, 0, errDecimalDigits
	}
	mantissa, power := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, power = s[:i], s[i+1:]
		e, err := strconv.ParseInt(power, 10, 32)
		if err != nil {
			if errors.Is(err, strconv.ErrRange) {
				return nil, 0, errDecimalDigits
			}
			return nil, 0, notDecimal(s)
		}
		exponent = int32(max(min(e, 1<<30), -1<<30))
	}
	whole, fraction, pointed := strings.Cut(mantissa, ".")
	unsigned := strings.TrimPrefix(whole, "-")
	if unsigned == "" || pointed && fraction == "" || !allDigits(unsigned) || !allDigits(fraction) {
		return nil, 0, notDecimal(s)
	}
	return []byte(whole + fraction), exponent - int32(len(fraction)), nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func notDecimal(s string) error {
	return errors.New("string " + clip(s) + " is not a decimal, like -12.5")
}

// compareDecimals orders two canonical decimals by value.
func compareDecimals(a []byte, b string) int {
	negative := a[0] == '-'
	if negative != (b[0] == '-') {
		return order(!negative)
	}
	if wholeA, wholeB := wholeDigits(a), wholeDigits(b); wholeA != wholeB {
		return order((wholeA > wholeB) != negative)
	}
	// The points stand one under the other.
	if string(a) == b {
		return 0
	}
	return order((string(a) > b) != negative)
}

func order(greater bool) int {
	if greater {
		return 1
	}
	return -1
}

// wholeDigits counts what stands before the point.
func wholeDigits[S ~string | ~[]byte](s S) int {
	for i := range len(s) {
		if s[i] == '.' {
			return i
		}
	}
	return len(s)
}

// Decimal reads a string that ParseDecimal understands. The coefficient is
// never nil.
func (v Value) Decimal() (coefficient *big.Int, exponent int32) {
	if v.raw == nil {
		return new(big.Int), 0
	}
	s, err := canonical.ParseString(v.raw)
	if err == nil {
		coefficient, exponent, err = ParseDecimal(s)
	}
	if err != nil {
		v.t.fail(err)
		return new(big.Int), 0
	}
	return coefficient, exponent
}
