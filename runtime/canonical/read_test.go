package canonical_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/canonical"
)

func TestObject_HandsOutMembersInOrder(t *testing.T) {
	raw := []byte(" { \"b\" : [ 1 , {\"x\":2} ] ,\n\"\\u0061\":\"v\", \"\":null } ")
	var got []string
	err := canonical.Object(raw, func(name string, value []byte) error {
		got = append(got, name+"="+string(value))
		if cap(value) != len(value) {
			t.Errorf("%s: an append to the value would overwrite what follows it", name)
		}
		return nil
	})
	want := []string{"b=[ 1 , {\"x\":2} ]", `a="v"`, "=null"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestArray_HandsOutElementsInOrder(t *testing.T) {
	var got []string
	err := canonical.Array([]byte(` [ 1 , [2] , "]" ] `), func(i int, value []byte) error {
		got = append(got, fmt.Sprint(i, "=", string(value)))
		return nil
	})
	if want := []string{"0=1", "1=[2]", `2="]"`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestObject_IsStrict(t *testing.T) {
	for in, want := range map[string]string{
		``:                           "JSON text ends where an object is expected at byte 0",
		`[]`:                         "an array where an object is expected",
		`"{}"`:                       "a string where an object is expected",
		`null`:                       "null where an object is expected",
		`true`:                       "a boolean where an object is expected",
		`1`:                          "a number where an object is expected",
		`?`:                          `unexpected "?" where an object is expected at byte 0`,
		`{}{}`:                       "unexpected text after the JSON value at byte 2",
		`{"a":1,"b":2,"a":3}`:        `duplicate member name "a" at byte 13`,
		`{"a":1,"\u0061":3}`:         `duplicate member name "a" at byte 7`,
		`{"a":{"b":1,"b":2}}`:        `a: duplicate member name "b" at byte 12`,
		`{"a":[{"b":1,"\u0062":2}]}`: `a[0]: duplicate member name "b" at byte 13`,
		"{\"a\":\"\xff\"}":           "a: invalid UTF-8 at byte 6",
		`{"a":"\udead"}`:             "a: lone surrogate at byte 6",
		`{"a":01}`:                   `a: unexpected "0" where a digit is expected at byte 5`,
		`{"a":tru}`:                  `a: unexpected "t" where a value is expected at byte 5`,
	} {
		err := canonical.Object([]byte(in), func(string, []byte) error { return nil })
		if err == nil || err.Error() != want {
			t.Errorf("Object(%s):\n got %v\nwant %s", in, err, want)
		}
	}
	// Integers beyond a double are no fault where nothing rounds them.
	if err := canonical.Object([]byte(`{"n":9007199254740993,"f":1e999}`), func(string, []byte) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestObjectAndArray_StopAtTheCallersError(t *testing.T) {
	stop := errors.New("enough")
	calls := 0
	err := canonical.Object([]byte(`{"list":[1,2,3],"more":1}`), func(_ string, value []byte) error {
		return canonical.Array(value, func(i int, _ []byte) error {
			if calls++; i == 1 {
				return stop
			}
			return nil
		})
	})
	if !errors.Is(err, stop) || err.Error() != "list[1]: enough" || calls != 2 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

func TestParse_RefusesEverythingButItsOwnType(t *testing.T) {
	parsers := map[string]func([]byte) error{
		"string":   func(b []byte) error { _, err := canonical.ParseString(b); return err },
		"bool":     func(b []byte) error { _, err := canonical.ParseBool(b); return err },
		"int":      func(b []byte) error { _, err := canonical.ParseInt(b); return err },
		"int64":    func(b []byte) error { _, err := canonical.ParseInt64(b); return err },
		"float":    func(b []byte) error { _, err := canonical.ParseFloat(b); return err },
		"time":     func(b []byte) error { _, err := canonical.ParseTime(b); return err },
		"duration": func(b []byte) error { _, err := canonical.ParseDuration(b); return err },
		"bytes":    func(b []byte) error { _, err := canonical.ParseBytes(b); return err },
	}
	good := map[string][]string{
		"string":   {`""`, ` "a" `, `"é\u00e9\n"`},
		"bool":     {`true`, " false\n"},
		"int":      {`0`, ` -1 `, `-0`, `9007199254740991`},
		"int64":    {`"0"`, `"-9223372036854775808"`, `"\u0031"`},
		"float":    {`0`, `-1.5`, `1E3`, `1e-400`, `9007199254740993`},
		"time":     {`"2026-01-31T09:30:00Z"`, `"2026-01-31T09:30:00.123456789+02:00"`},
		"duration": {`"1h"`, `"-1.5s"`, `"1.5µs"`},
		"bytes":    {`""`, `"YWJj"`, `"YW\u004aj"`},
	}
	bad := map[string][]string{
		"string":   {``, `a`, `"a`, `"a" "b"`, `null`, `1`, `"\ud800"`, "\"\xff\""},
		"bool":     {``, `True`, `"true"`, `1`, `null`, `truex`, `true false`, `fals`},
		"int":      {``, `"1"`, `1.0`, `1e3`, `9007199254740992`, `-9007199254740992`, `99999999999999999999999`, `01`, `+1`, `null`, `1 2`, `-`},
		"int64":    {``, `1`, `""`, `"+1"`, `"01"`, `"-0"`, `" 1"`, `"1.0"`, `"9223372036854775808"`, `"0x1"`, `"1_000"`, `null`},
		"float":    {``, `"1"`, `1e400`, `NaN`, `Infinity`, `.5`, `1.`, `null`, `0x1p4`, `1_0`},
		"time":     {``, `"2026-01-31"`, `"2026-01-31T09:30:00"`, `"2026-01-31 09:30:00Z"`, `"2026-02-30T09:30:00Z"`, `"2026-01-31T9:30:00Z"`, `"2026-01-31T09:30:00,5Z"`, `"2026-01-31T09:30:00.1234567891Z"`, `"2026-01-31T09:30:00+24:00"`, `0`, `null`},
		"duration": {``, `"1"`, `"h"`, `""`, `60`, `null`, `"1 h"`, `"9999999h"`},
		"bytes":    {``, `"YWI"`, `"YWJ="`, `"YW Jj"`, `"YWJj\n"`, `"_-=="`, `[1]`, `null`},
	}
	for name, parse := range parsers {
		for _, in := range good[name] {
			if err := parse([]byte(in)); err != nil {
				t.Errorf("%s %s: %v", name, in, err)
			}
		}
		for _, in := range bad[name] {
			if err := parse([]byte(in)); err == nil {
				t.Errorf("%s %s: no error", name, in)
			} else if _, ok := errors.AsType[*canonical.Error](err); !ok {
				t.Errorf("%s %s: %T is no *canonical.Error", name, in, err)
			}
		}
	}
	if !canonical.IsNull([]byte(" null\n")) || canonical.IsNull([]byte(`"null"`)) || canonical.IsNull(nil) {
		t.Error("IsNull is wrong")
	}
}

func TestParse_SaysWhatIsWrong(t *testing.T) {
	for want, err := range map[string]error{
		`a number where a string is expected`:                                    second(canonical.ParseString([]byte(`1`))),
		`a string where a number is expected`:                                    second(canonical.ParseInt([]byte(`"1"`))),
		`number 1.5 is not an integer`:                                           second(canonical.ParseInt([]byte(`1.5`))),
		`integer 9007199254740992 is outside ±(2^53−1)`:                          second(canonical.ParseInt([]byte(`9007199254740992`))),
		`string "x" is not a decimal integer`:                                    second(canonical.ParseInt64([]byte(`"x"`))),
		`integer 9223372036854775808 is outside 64 bits`:                         second(canonical.ParseInt64([]byte(`"9223372036854775808"`))),
		`null where a boolean is expected`:                                       second(canonical.ParseBool([]byte(`null`))),
		`unexpected "f" where true or false is expected at byte 0`:               second(canonical.ParseBool([]byte(`fals`))),
		`string "today" is not a time as in RFC 3339, like 2026-01-31T09:30:00Z`: second(canonical.ParseTime([]byte(`"today"`))),
		`string "soon" is not a duration, like 1h30m`:                            second(canonical.ParseDuration([]byte(`"soon"`))),
		`string is not standard base64 with padding`:                             second(canonical.ParseBytes([]byte(`"?"`))),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,"2",{"b":null}],"\u0061c":true}`, `[]`, `"2026-01-31T09:30:00Z"`, `"9007199254740993"`, `-1e5`,
		`"\ud83d\ude00"`, `{"a":1,"a":2}`, `"YWJj"`, `"1h2m"`, "{\"\xff\":0}", `[[[[`, `{"a":`, `tru`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		var walk func(raw []byte) error
		walk = func(raw []byte) error {
			if err := canonical.Object(raw, func(_ string, v []byte) error { return walk(v) }); err == nil {
				return nil
			}
			return canonical.Array(raw, func(_ int, v []byte) error { return walk(v) })
		}
		_ = walk(raw)
		if err := canonical.Object(raw, func(_ string, v []byte) error {
			if !json.Valid(v) {
				t.Errorf("handed out what is no JSON: %q", v)
			}
			return nil
		}); err == nil && !json.Valid(raw) {
			t.Errorf("took what is no JSON: %q", raw)
		}
		if s, err := canonical.ParseString(raw); err == nil {
			var want string
			if err := json.Unmarshal(raw, &want); err != nil || s != want {
				t.Errorf("ParseString(%q) = %q, want %q", raw, s, want)
			}
		}
		if v, err := canonical.ParseInt(raw); err == nil {
			if text, err := canonical.AppendInt(nil, v); err != nil || !bytes.Equal(text, bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("-"))) && !bytes.Equal(text, bytes.TrimSpace(raw)) {
				t.Errorf("ParseInt(%q) = %d", raw, v)
			}
		}
		if v, err := canonical.ParseFloat(raw); err == nil {
			if text, err := canonical.Transform(raw); err == nil {
				if again, _ := canonical.AppendFloat(nil, v); !bytes.Equal(text, again) {
					t.Errorf("ParseFloat(%q) = %v", raw, v)
				}
			}
		}
		if v, err := canonical.ParseTime(raw); err == nil {
			if text, err := canonical.AppendTime(nil, v); err == nil {
				if again, err := canonical.ParseTime(text); err != nil || !again.Equal(v) {
					t.Errorf("ParseTime(%q) = %v does not come back", raw, v)
				}
			}
		}
		_, _ = canonical.ParseBool(raw)
		_, _ = canonical.ParseInt64(raw)
		_, _ = canonical.ParseDuration(raw)
		_, _ = canonical.ParseBytes(raw)
		_ = canonical.IsNull(raw)
		if !bytes.Equal(raw, before) {
			t.Error("reading changed its input")
		}
	})
}
