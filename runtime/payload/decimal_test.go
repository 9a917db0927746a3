package payload_test

import (
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/payload"
	"pgregory.net/rapid"
)

func TestCanonicalDecimal_HasOneSpellingPerValue(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "0.00": "0", "00012.50": "12.5", "-1.0": "-1", "1e3": "1000", "1E+3": "1000",
		"12.5e-1": "1.25", "1e-3": "0.001", "-100": "-100", "100e-2": "1", "0e999999999": "0", "0.10": "0.1",
	} {
		have, err := payload.CanonicalDecimal(text)
		if err != nil || have != want {
			t.Errorf("%s: %q, %v; want %q", text, have, err, want)
		}
	}
}

func TestParseDecimal_RefusesWhatIsNoneOrTooLong(t *testing.T) {
	for _, text := range []string{
		"", "-", "+1", ".5", "5.", "1.2.3", "0x10", "1_000", " 1", "1e", "1e1.5", "NaN", "Infinity", "--1", "1-", "-.5", "1e+-3", "٣",
	} {
		if _, _, err := payload.ParseDecimal(text); err == nil || !strings.Contains(err.Error(), "is not a decimal") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{
		"1e999999999", "1e-999999999", "1e99999999999999999999", "1e501", "1e-501", strings.Repeat("9", 501), "0." + strings.Repeat("9", 501),
		strings.Repeat("9", 1<<20), "1e2147483647", "1e-2147483648", "0.1e-2147483648",
	} {
		if _, _, err := payload.ParseDecimal(text); err == nil || !strings.Contains(err.Error(), "500 digits") {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	for _, text := range []string{"1e499", "1e-500", strings.Repeat("9", 500) + "." + strings.Repeat("9", 500)} {
		if _, _, err := payload.ParseDecimal(text); err != nil {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

var canonicalDecimal = regexp.MustCompile(`^(0|-?([1-9][0-9]*)|-?(0|[1-9][0-9]*)\.[0-9]*[1-9])$`)

func TestDecimal_EqualValuesAreWrittenAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		coefficient := rapid.Int64().Draw(t, "coefficient")
		exponent := rapid.Int32Range(-40, 40).Draw(t, "exponent")
		more := rapid.Int32Range(0, 30).Draw(t, "trailing zeros")

		text, err := payload.DecimalText(big.NewInt(coefficient), exponent)
		if err != nil || !canonicalDecimal.MatchString(text) {
			t.Fatalf("%d·10^%d is written %q, %v", coefficient, exponent, text, err)
		}
		scaled := new(big.Int).Mul(big.NewInt(coefficient), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(more)), nil))
		if other, err := payload.DecimalText(scaled, exponent-more); err != nil || other != text {
			t.Fatalf("the same value is written %q and %q, %v", text, other, err)
		}
		have, ok := new(big.Rat).SetString(text)
		want := new(big.Rat).SetInt64(coefficient)
		ten := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil))
		if exponent < 0 {
			ten.Inv(ten)
		}
		if want.Mul(want, ten); !ok || have.Cmp(want) != 0 {
			t.Fatalf("%q is not %s", text, want)
		}
		c, e, err := payload.ParseDecimal(text)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := payload.DecimalText(c, e); err != nil || again != text {
			t.Fatalf("%q is read and written %q, %v", text, again, err)
		}
	})
}

func TestDecimal_BoundsCompareByValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (string, *big.Rat) {
			c := rapid.Int64Range(-2000, 2000).Draw(t, label)
			text, err := payload.DecimalText(big.NewInt(c), rapid.Int32Range(-4, 2).Draw(t, label+" exponent"))
			if err != nil {
				t.Fatal(err)
			}
			r, _ := new(big.Rat).SetString(text)
			return text, r
		}
		value, valueRat := draw("value")
		bound, boundRat := draw("bound")
		check := func(rule func(payload.Decimal)) bool {
			w := payload.NewWriter(nil)
			c, e, err := payload.ParseDecimal(value)
			if err != nil {
				t.Fatal(err)
			}
			rule(w.DecimalBig(c, e))
			_, err = w.Close()
			return err == nil
		}
		order := valueRat.Cmp(boundRat)
		if ok := check(func(d payload.Decimal) { d.Min(bound) }); ok != (order >= 0) {
			t.Fatalf("%s at least %s: %v", value, bound, ok)
		}
		if ok := check(func(d payload.Decimal) { d.Max(bound) }); ok != (order <= 0) {
			t.Fatalf("%s at most %s: %v", value, bound, ok)
		}
	})
}

func TestDecimalBig_RefusesAHugeCoefficientWithoutSpellingItOut(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 1<<24)
	w := payload.NewWriter(nil)
	w.DecimalBig(huge, 0).Min("0").Max("1")
	if _, err := w.Close(); err == nil || !strings.Contains(err.Error(), "500 digits") {
		t.Error(err)
	}
}
