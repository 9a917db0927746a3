package canonical_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/outboxgen/outboxgen/runtime/canonical"
)

func TestTransform(t *testing.T) {
	for in, want := range map[string]string{
		" \t\r\n{ } ": `{}`,
		"[ ]":         `[]`,
		" null":       `null`,
		`"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/"`:                       `"€$\u000f\nA'B\"\\\\\"/"`,
		`[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]`: `[333333333.3333333,1e+30,4.5,0.002,1e-27]`,
		`[-0, -0.0, 0e5, 1.0, 1e0, 10E+1, 1e21, 1e-400]`:                        `[0,0,0,1,1,100,1e+21,0]`,
		// RFC 8785, section 3.2.3.
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`: "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"\U0001F600\":5,\"\ufb33\":3}",
		`{"b":{"d":1,"c":2},"a":[{"z":1,"y":2}]}`:                                     `{"a":[{"y":2,"z":1}],"b":{"c":2,"d":1}}`,
		`{"ab":1,"a":2,"":3}`: `{"":3,"a":2,"ab":1}`,
		`{"\n":1,"\t":2,"\b":3,"\\":4,"\"":5,"/":6,"\u0000":7}`: `{"\u0000":7,"\b":3,"\t":2,"\n":1,"\"":5,"/":6,"\\":4}`,
		`"<b>& \u2028 \u001b \ud83d\ude02 \/ \u007f"`:           "\"<b>& \u2028 \\u001b 😂 / \u007f\"",
	} {
		got, err := canonical.Transform([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("Transform(%s)\n got %s, %v\nwant %s", in, got, err, want)
			continue
		}
		again, err := canonical.Transform(got)
		if err != nil || string(again) != want {
			t.Errorf("Transform(%s) is no fixed point: %s, %v", want, again, err)
		}
	}
}

// Case W-01.
func TestTransform_OrdersByUTF16Units(t *testing.T) {
	got, err := canonical.Transform([]byte(`{"\ufb33":1,"\ud83d\ude00":2}`))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(got)
	if hex.EncodeToString(sum[:]) != "ec4e7d8c2963caa38dccc3d42693719ac9c6ecd783891b583d333565620ac2be" {
		t.Errorf("got %s", got)
	}
}

// Case W-02: two different integers never become one text.
func TestTransform_RefusesIntegersThatADoubleChanges(t *testing.T) {
	for _, in := range []string{
		"9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775807",
		"18446744073709551615", "1152921504606846976", "100000000000000000000001",
		"1" + strings.Repeat("0", 400),
	} {
		raw := []byte(`{"list":[{"n":` + in + `}]}`)
		got, err := canonical.AppendJSON([]byte("x"), raw)
		if err == nil || string(got) != "x" || !strings.HasPrefix(err.Error(), "list[0].n: ") {
			t.Errorf("%s: got %s, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"9007199254740992", "9007199254740994", "-9007199254740992", "999999999999999",
		"1152921504606847000", "333333333333333300000",
	} {
		got, err := canonical.Transform([]byte(in))
		if err != nil || string(got) != in {
			t.Errorf("%s: got %s, %v; want it unchanged", in, got, err)
		}
	}
	if got, err := canonical.Transform([]byte("1000000000000000000000")); err != nil || string(got) != "1e+21" {
		t.Errorf("10^21: got %s, %v", got, err)
	}
}

func TestTransform_RefusesWithItsPlace(t *testing.T) {
	for in, want := range map[string]string{
		``:                                 "JSON text ends where a value is expected at byte 0",
		` `:                                "JSON text ends where a value is expected at byte 1",
		`nul`:                              `unexpected "n" where a value is expected at byte 0`,
		`{} {}`:                            "unexpected text after the JSON value at byte 3",
		`[1,]`:                             `[1]: unexpected "]" where a value is expected at byte 3`,
		`[1 2]`:                            `unexpected "2" where a comma or ] is expected at byte 3`,
		`{"a":1,}`:                         `unexpected "}" where a member's name in quotes is expected at byte 7`,
		`{"a" 1}`:                          `unexpected "1" where a colon is expected at byte 5`,
		`{"a":1 "b":2}`:                    `unexpected "\"" where a comma or } is expected at byte 7`,
		`{a:1}`:                            `unexpected "a" where a member's name in quotes is expected at byte 1`,
		`{"a":`:                            "a: JSON text ends where a value is expected at byte 5",
		`{`:                                "JSON text ends where a member's name in quotes is expected at byte 1",
		`[`:                                "[0]: JSON text ends where a value is expected at byte 1",
		`'a'`:                              `unexpected "'" where a value is expected at byte 0`,
		"\ufeff{}":                         `unexpected "\xef" where a value is expected at byte 0`,
		`{"a":1,"a":2}`:                    `duplicate member name "a" at byte 7`,
		`{"a":1,"\u0061":2}`:               `duplicate member name "a" at byte 7`,
		`{"b":1,"a":2,"b":3}`:              `duplicate member name "b" at byte 13`,
		`{"x":[{"b":1,"a":2,"\u0062":3}]}`: `x[0]: duplicate member name "b" at byte 19`,
		"\"a\xff\"":                        "invalid UTF-8 at byte 2",
		"\"\xed\xa0\x80\"":                 "invalid UTF-8 at byte 1",
		`"\ud800"`:                         "lone surrogate at byte 1",
		`"\ud800\ud800"`:                   "lone surrogate at byte 1",
		`"a\udc00"`:                        "lone surrogate at byte 2",
		`"\ud83dx"`:                        "lone surrogate at byte 1",
		`{"\ud800":1}`:                     "lone surrogate at byte 2",
		`"\x"`:                             "unknown escape in a string at byte 1",
		`"\u12g4"`:                         `\u without four hex digits at byte 1`,
		`"\u12`:                            `\u without four hex digits at byte 1`,
		`"abc`:                             "JSON text ends inside a string at byte 4",
		`"abc\`:                            "JSON text ends inside a string at byte 5",
		"\"a\nb\"":                         "control character that is not escaped at byte 2",
		`01`:                               `unexpected "0" where a digit is expected at byte 0`,
		`-`:                                "JSON text ends where a digit is expected at byte 1",
		`+1`:                               `unexpected "+" where a value is expected at byte 0`,
		`.5`:                               `unexpected "." where a value is expected at byte 0`,
		`1.`:                               "JSON text ends where a digit is expected at byte 2",
		`1e`:                               "JSON text ends where a digit is expected at byte 2",
		`1e+x`:                             `unexpected "x" where a digit is expected at byte 3`,
		`0x10`:                             "unexpected text after the JSON value at byte 1",
		`NaN`:                              `unexpected "N" where a value is expected at byte 0`,
		`[1e400]`:                          "[0]: number 1e400 is beyond the range of a double at byte 1",
		`[-1e400]`:                         "[0]: number -1e400 is beyond the range of a double at byte 1",
	} {
		got, err := canonical.Transform([]byte(in))
		if err == nil {
			t.Errorf("Transform(%q) = %s; want the error %q", in, got, want)
		} else if err.Error() != want {
			t.Errorf("Transform(%q):\n got %s\nwant %s", in, err, want)
		}
	}
}

func TestTransform_BoundsNesting(t *testing.T) {
	nest := func(n int) []byte {
		return []byte(strings.Repeat(`[{"a":`, n/2) + "1" + strings.Repeat("}]", n/2))
	}
	if _, err := canonical.Transform(nest(1000)); err != nil {
		t.Errorf("1000 levels: %v", err)
	}
	for _, n := range []int{1002, 2_000_000} {
		_, err := canonical.Transform(nest(n))
		if err == nil || !strings.Contains(err.Error(), "nested deeper than 1000 levels") {
			t.Errorf("%d levels: %v", n, err)
		}
	}
	ignore := func(string, []byte) error { return nil }
	// What Transform takes fits inside an object that is read.
	if err := canonical.Object([]byte(`{"a":`+string(nest(1000))+`}`), ignore); err != nil {
		t.Errorf("reading: %v", err)
	}
	if err := canonical.Object([]byte(`{"a":`+string(nest(2000))+`}`), ignore); err == nil {
		t.Error("reading has no bound")
	}
}

func TestTransform_BoundsSize(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 256 MiB of address space")
	}
	raw := make([]byte, 256<<20+1) // only its length is looked at
	if _, err := canonical.AppendJSON(nil, raw); err == nil || err.Error() != "JSON text is longer than 256 MiB" {
		t.Errorf("AppendJSON: %v", err)
	}
	if _, err := canonical.ParseString(raw); err == nil || err.Error() != "JSON text is longer than 256 MiB" {
		t.Errorf("ParseString: %v", err)
	}
}

func TestTransform_ManyMembers(t *testing.T) {
	var in, want bytes.Buffer
	const n = 3000
	in.WriteByte('{')
	want.WriteByte('{')
	for i := range n {
		if i > 0 {
			in.WriteByte(',')
			want.WriteByte(',')
		}
		in.WriteString(`"` + strings.Repeat("k", n-i) + `":[ ` + strings.Repeat("1", i%10+1) + " ]")
		want.WriteString(`"` + strings.Repeat("k", i+1) + `":[` + strings.Repeat("1", (n-1-i)%10+1) + "]")
	}
	in.WriteByte('}')
	want.WriteByte('}')
	got, err := canonical.AppendJSON([]byte("before"), in.Bytes())
	if err != nil || string(got) != "before"+want.String() {
		t.Fatalf("%d members come out wrong (%v)", n, err)
	}
}

// agrees checks what holds for any input at all.
func agrees(t *testing.T, raw []byte) {
	t.Helper()
	got, err := canonical.Transform(raw)
	if err != nil {
		return
	}
	if !json.Valid(raw) {
		t.Fatalf("took what is no JSON: %q", raw)
	}
	want, err := jcs.Transform(raw)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("Transform(%q)\n got %s\nwant %s, %v", raw, got, want, err)
	}
	again, err := canonical.Transform(got)
	if err != nil || !bytes.Equal(again, got) {
		t.Fatalf("no fixed point: %q becomes %q, %v", got, again, err)
	}
	appended, err := canonical.AppendJSON([]byte("[0,"), raw)
	if err != nil || string(appended) != "[0,"+string(got) {
		t.Fatalf("AppendJSON(%q) = %q, %v", raw, appended, err)
	}
}

func FuzzTransform(f *testing.F) {
	for _, seed := range []string{
		`{"\ufb33":1,"\ud83d\ude00":2}`, `{"n":9007199254740993}`, `[1e21,-0,1.0,5e-324]`,
		`{"a":{"c":1,"b":[null,true,false]},"\u0061b":"\n\/\u2028"}`, `"\ud800"`, `{"a":1,"\u0061":2}`,
		" [ 333333333.33333329 , 1E30 ] ", "\"\xff\"", `{"b":0,"a":0,"b":0}`, `{"\\":1,"\"":2,"\u0022":3}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { agrees(t, raw) })
}
