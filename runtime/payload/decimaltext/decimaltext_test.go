package decimaltext_test

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/payload"
	"github.com/outboxgen/outboxgen/runtime/payload/decimaltext"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"
)

func write(d decimal.Decimal) (string, error) {
	w := payload.NewWriter(nil)
	decimaltext.Write(w, d)
	b, err := w.Close()
	return string(b), err
}

func read(text string) (decimal.Decimal, error) {
	var d decimal.Decimal
	err := payload.Unmarshal([]byte(text), &d, decimaltext.Read)
	return d, err
}

func TestWrite_AgreesWithDecimalString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := decimal.New(rapid.Int64().Draw(t, "coefficient"), rapid.Int32Range(-50, 50).Draw(t, "exponent"))
		if rapid.Bool().Draw(t, "big") {
			d = d.Mul(decimal.New(rapid.Int64().Draw(t, "factor"), -3))
		}
		have, err := write(d)
		if err != nil {
			t.Fatal(err)
		}
		if want := `"` + d.String() + `"`; have != want {
			t.Fatalf("have %s, want %s", have, want)
		}
		if text, err := decimaltext.Text(d); err != nil || `"`+text+`"` != have {
			t.Fatalf("Text is %s, %v; Write writes %s", text, err, have)
		}
		back, err := read(have)
		if err != nil || !back.Equal(d) {
			t.Fatalf("%s is read as %s, %v", have, back, err)
		}
	})
}

func TestWrite_DoesNotDependOnSettings(t *testing.T) {
	before := decimal.MarshalJSONWithoutQuotes
	decimal.MarshalJSONWithoutQuotes = true
	defer func() { decimal.MarshalJSONWithoutQuotes = before }()
	if have, err := write(decimal.RequireFromString("1.50")); err != nil || have != `"1.5"` {
		t.Errorf("%s, %v", have, err)
	}
}

func TestWrite_BoundsTheDigits(t *testing.T) {
	for _, d := range []decimal.Decimal{decimal.New(1, math.MaxInt32), decimal.New(1, math.MinInt32), decimal.New(123, 499)} {
		if _, err := write(d); err == nil || !strings.Contains(err.Error(), "500 digits") {
			t.Errorf("Write: %v", err)
		}
		if _, err := decimaltext.Text(d); err == nil {
			t.Error("Text takes what Write refuses")
		}
	}
	if have, err := write(decimal.Decimal{}); err != nil || have != `"0"` {
		t.Errorf("the zero value: %s, %v", have, err)
	}
}

func TestWrite_AllocatesNothingForCommonValues(t *testing.T) {
	if raceDetector() {
		t.Skip("under the race detector sync.Pool drops what it is given, to find races")
	}
	dst := make([]byte, 0, 64)
	for _, text := range []string{"0", "12.50", "-99999999999999.9999"} {
		d := decimal.RequireFromString(text)
		allocs := testing.AllocsPerRun(500, func() {
			w := payload.NewWriter(dst)
			decimaltext.Write(w, d).Min("-100000000000000")
			if _, err := w.Close(); err != nil {
				t.Fatal(err)
			}
		})
		if allocs > 0 {
			t.Errorf("%s: %v allocations", text, allocs)
		}
	}
}

func Example() {
	w := payload.NewWriter(nil)
	decimaltext.Write(w, decimal.RequireFromString("12.500")).Max("20")
	body, err := w.Close()
	fmt.Println(string(body), err)
	// Output: "12.5" <nil>
}

// raceDetector reports a test binary built with -race.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
