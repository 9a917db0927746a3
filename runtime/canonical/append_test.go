package canonical_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/canonical"
)

func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		"":                         `""`,
		"plain":                    `"plain"`,
		"<b>&'/":                   `"<b>&'/"`,
		"\"\\":                     `"\"\\"`,
		"\b\t\n\f\r":               `"\b\t\n\f\r"`,
		"\x00\x01\x0b\x1b\x1f":     `"\u0000\u0001\u000b\u001b\u001f"`,
		"\x7f\u0080\u2028\u2029":   "\"\x7f\u0080\u2028\u2029\"",
		"é€\U0001F602\uFFFD\uFFFE": "\"é€\U0001F602\uFFFD\uFFFE\"",
		"A\u030a":                  "\"A\u030a\"", // not normalised
	} {
		got, err := canonical.AppendString([]byte("x"), in)
		if err != nil || string(got) != "x"+want {
			t.Errorf("AppendString(%q) = %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestAppendString_InvalidUTF8NamesTheByte(t *testing.T) {
	for in, offset := range map[string]int{
		"abc\xff":       3,
		"\x80":          0,
		"\xc0\xaf":      0, // overlong
		"é\xed\xa0\x80": 2, // a surrogate
		"\n\n\xf0\x9f":  2, // cut off
	} {
		got, err := canonical.AppendString([]byte("x"), in)
		e, ok := errors.AsType[*canonical.Error](err)
		if !ok || e.Offset != offset || string(got) != "x" {
			t.Errorf("AppendString(%q) = %q, %v; want an error at byte %d and nothing appended", in, got, err, offset)
		}
	}
}

func TestAppendFloat(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want string
	}{
		// A few of RFC 8785, appendix B.
		{0, "0"},
		{math.Copysign(0, -1), "0"},
		{math.Float64frombits(0x0000000000000001), "5e-324"},
		{math.Float64frombits(0x8000000000000001), "-5e-324"},
		{math.MaxFloat64, "1.7976931348623157e+308"},
		{-math.MaxFloat64, "-1.7976931348623157e+308"},
		{math.Float64frombits(0x4340000000000000), "9007199254740992"},
		{math.Float64frombits(0x4430000000000000), "295147905179352830000"},
		{math.Float64frombits(0x44b52d02c7e14af5), "9.999999999999997e+22"},
		{math.Float64frombits(0x44b52d02c7e14af6), "1e+23"},
		{math.Float64frombits(0x444b1ae4d6e2ef4f), "999999999999999900000"},
		{math.Float64frombits(0x444b1ae4d6e2ef50), "1e+21"},
		{math.Float64frombits(0x3eb0c6f7a0b5ed8c), "9.999999999999997e-7"},
		{math.Float64frombits(0x3eb0c6f7a0b5ed8d), "0.000001"},
		{math.Float64frombits(0x41b3de4355555557), "333333333.33333343"},
		{math.Float64frombits(0xbecbf647612f3696), "-0.0000033333333333333333"},
		{math.Float64frombits(0x43143ff3c1cb0959), "1424953923781206.2"},
		// Edges of our own short cuts.
		{1, "1"}, {-1, "-1"}, {1.5, "1.5"}, {100, "100"},
		{1e-7, "1e-7"}, {1e100, "1e+100"}, {1e-100, "1e-100"}, {123e-20, "1.23e-18"},
		{canonical.MaxInt, "9007199254740991"}, {-canonical.MaxInt, "-9007199254740991"},
		{1 << 53, "9007199254740992"}, {1e20, "100000000000000000000"},
	} {
		got, err := canonical.AppendFloat(nil, c.f)
		if err != nil || string(got) != c.want {
			t.Errorf("AppendFloat(%x) = %s, %v; want %s", math.Float64bits(c.f), got, err, c.want)
		}
		back, err := canonical.ParseFloat(got)
		if err != nil || back != c.f {
			t.Errorf("ParseFloat(%s) = %v, %v; want %v", got, back, err, c.f)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got, err := canonical.AppendFloat([]byte("x"), f); err == nil || string(got) != "x" {
			t.Errorf("AppendFloat(%v) = %q, %v; want an error", f, got, err)
		}
	}
}

func TestAppendInt_RefusesWhatADoubleRounds(t *testing.T) {
	for _, v := range []int64{0, 1, -1, canonical.MaxInt, -canonical.MaxInt} {
		got, err := canonical.AppendInt(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := canonical.ParseInt(got); err != nil || back != v {
			t.Errorf("ParseInt(%s) = %d, %v", got, back, err)
		}
	}
	for _, v := range []int64{canonical.MaxInt + 1, -canonical.MaxInt - 1, math.MaxInt64, math.MinInt64} {
		if got, err := canonical.AppendInt([]byte("x"), v); err == nil || string(got) != "x" {
			t.Errorf("AppendInt(%d) = %q, %v; want an error", v, got, err)
		}
	}
}

func TestAppendInt64_KeepsEveryDigit(t *testing.T) {
	for v, want := range map[int64]string{
		0: `"0"`, -7: `"-7"`, 1<<53 + 1: `"9007199254740993"`,
		math.MaxInt64: `"9223372036854775807"`, math.MinInt64: `"-9223372036854775808"`,
	} {
		got := canonical.AppendInt64(nil, v)
		if string(got) != want {
			t.Errorf("AppendInt64(%d) = %s", v, got)
		}
		if back, err := canonical.ParseInt64(got); err != nil || back != v {
			t.Errorf("ParseInt64(%s) = %d, %v", got, back, err)
		}
	}
}

func TestAppendTime_OneTextForOneInstant(t *testing.T) {
	east := time.FixedZone("east", 5*3600+30*60)
	for _, c := range []struct {
		t    time.Time
		want string
	}{
		{time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC), `"2026-01-31T09:30:00Z"`},
		{time.Date(2026, 1, 31, 15, 0, 0, 0, east), `"2026-01-31T09:30:00Z"`},
		{time.Date(2026, 1, 31, 9, 30, 0, 120_000_000, time.UTC), `"2026-01-31T09:30:00.12Z"`},
		{time.Date(2026, 1, 31, 9, 30, 0, 1, time.UTC), `"2026-01-31T09:30:00.000000001Z"`},
		{time.Time{}, `"0001-01-01T00:00:00Z"`},
		{time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), `"0000-01-01T00:00:00Z"`},
		{time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), `"9999-12-31T23:59:59.999999999Z"`},
	} {
		got, err := canonical.AppendTime(nil, c.t)
		if err != nil || string(got) != c.want {
			t.Errorf("AppendTime(%v) = %s, %v; want %s", c.t, got, err, c.want)
		}
		if back, err := canonical.ParseTime(got); err != nil || !back.Equal(c.t) || back.Location() != time.UTC {
			t.Errorf("ParseTime(%s) = %v, %v", got, back, err)
		}
	}
	for _, bad := range []time.Time{
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(0, 1, 1, 0, 0, 0, 0, east), // the year before in UTC
		time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := canonical.AppendTime([]byte("x"), bad); err == nil || string(got) != "x" {
			t.Errorf("AppendTime(%v) = %q, %v; want an error", bad, got, err)
		}
	}
}

func TestAppendDurationAndBytes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: `"0s"`, 90 * time.Minute: `"1h30m0s"`, 1500 * time.Nanosecond: `"1.5µs"`,
		math.MinInt64: `"-2562047h47m16.854775808s"`,
	} {
		got := canonical.AppendDuration(nil, d)
		if string(got) != want {
			t.Errorf("AppendDuration(%d) = %s, want %s", d, got, want)
		}
		if back, err := canonical.ParseDuration(got); err != nil || back != d {
			t.Errorf("ParseDuration(%s) = %v, %v", got, back, err)
		}
	}
	for in, want := range map[string]string{"": `""`, "\xff": `"/w=="`, "\xfb\xef\xbe": `"++++"`, "abc": `"YWJj"`} {
		got := canonical.AppendBytes(nil, []byte(in))
		if string(got) != want {
			t.Errorf("AppendBytes(%q) = %s, want %s", in, got, want)
		}
		if back, err := canonical.ParseBytes(got); err != nil || string(back) != in || back == nil {
			t.Errorf("ParseBytes(%s) = %q, %v", got, back, err)
		}
	}
	if got := string(canonical.AppendBool(canonical.AppendBool(nil, true), false)); got != "truefalse" {
		t.Errorf("AppendBool: %s", got)
	}
}

func TestFieldAndIndex_LeadToTheFault(t *testing.T) {
	_, inner := canonical.AppendString(nil, "abc\xff")
	err := canonical.Field("items", canonical.Index(2, canonical.Field("sku", inner)))
	if got, want := err.Error(), "items[2].sku: invalid UTF-8 at byte 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	cause := errors.New("no such channel")
	err = canonical.Field("a.b", canonical.Field("", canonical.Field("c\n", cause)))
	if got, want := err.Error(), `["a.b"][""]["c\n"]: no such channel`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	if canonical.Field("a", nil) != nil || canonical.Index(1, nil) != nil {
		t.Error("no fault became one")
	}
}

func TestErrorPath_IsBounded(t *testing.T) {
	err := errors.New("deep")
	for range 5000 {
		err = canonical.Field(strings.Repeat("naïve ", 40), canonical.Index(7, err))
	}
	if n := len(err.Error()); n > 1000 {
		t.Errorf("the error has %d bytes", n)
	}
	if text, _ := json.Marshal(err.Error()); strings.Contains(string(text), `\ufffd`) {
		t.Errorf("the error was cut inside a character: %s", text)
	}
}

func TestAppends_DoNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 1024)
	at := time.Date(2026, 1, 31, 9, 30, 0, 120_000_000, time.UTC)
	raw := []byte(`{"z":[1,2.5,{"b":"é\n","a":null}],"a":1e21,"\u00e9":true}`)
	for name, f := range map[string]func() error{
		"AppendString":   func() error { _, err := canonical.AppendString(buf, "héllo\nwörld"); return err },
		"AppendInt":      func() error { _, err := canonical.AppendInt(buf, -123456789012); return err },
		"AppendInt64":    func() error { canonical.AppendInt64(buf, math.MinInt64); return nil },
		"AppendFloat":    func() error { _, err := canonical.AppendFloat(buf, 1.2345678901234567e-300); return err },
		"AppendTime":     func() error { _, err := canonical.AppendTime(buf, at); return err },
		"AppendDuration": func() error { canonical.AppendDuration(buf, 1234567890123*time.Nanosecond); return nil },
		"AppendBytes":    func() error { canonical.AppendBytes(buf, raw); return nil },
		"AppendJSON":     func() error { _, err := canonical.AppendJSON(buf, raw); return err },
	} {
		if err := f(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		most := 0.0
		if name == "AppendJSON" {
			most = 1 // the stack of open objects
		}
		if n := testing.AllocsPerRun(100, func() { _ = f() }); n > most {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
