package payload_test

import (
	"encoding/json"
	"math"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/payload"
)

type channel string

func (c channel) Valid() bool { return c == "web" }

// everything writes one of each, as generated code would.
func everything(w *payload.Writer, text string, labels map[string]string) {
	w.Object()
	w.Member(`"a":`).String(text).MaxLength(5)
	w.Member(`"b":`).Array()
	for i := range 2 {
		w.Element(i).Object()
		w.Member(`"n":`).Int(int64(i)).Max(1)
		w.EndObject()
	}
	w.EndArray()
	w.Member(`"c":`).Object()
	for _, k := range payload.Keys(w, labels) {
		w.Key(k).String(labels[k])
	}
	w.EndObject()
	w.Member(`"d":`).Null()
	w.Member(`"e":`).Bool(true)
	w.Member(`"f":`).Int64(math.MinInt64)
	w.Member(`"g":`).Float(1e21)
	w.Member(`"h":`).Duration(90 * time.Second)
	w.Member(`"i":`).Time(time.Date(2026, 1, 31, 10, 0, 0, 500, time.FixedZone("", 3600)))
	w.Member(`"j":`).Date(outbox.Date{Year: 2026, Month: 1, Day: 31})
	w.Member(`"k":`).UUID(uuid.MustParse("0193F2A4-0000-7000-8000-00000000000F"))
	w.Member(`"l":`).Bytes([]byte{0xFF}).MinLength(1)
	w.Member(`"m":`).JSON(json.RawMessage(` { "b" : 1.0 , "a" : [ ] } `))
	payload.Enum(w.Member(`"n":`), channel("web"), "web, phone")
	w.Member(`"o":`).DecimalInt64(150, -2).Min("1.5").Max("1.5")
	w.EndObject()
}

func TestWriter_WritesCanonicalJSON(t *testing.T) {
	w := payload.NewWriter([]byte("kept"))
	everything(w, "<é>", map[string]string{"\uFB33": "1", "😀": "2", "": "3"})
	dst, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	want := `kept{"a":"<é>","b":[{"n":0},{"n":1}],"c":{"":"3","😀":"2","` + "\uFB33" + `":"1"},"d":null,"e":true,"f":"-9223372036854775808",` +
		`"g":1e+21,"h":"1m30s","i":"2026-01-31T09:00:00.0000005Z","j":"2026-01-31","k":"0193f2a4-0000-7000-8000-00000000000f","l":"/w==",` +
		`"m":{"a":[],"b":1},"n":"web","o":"1.5"}`
	if string(dst) != want {
		t.Errorf("have %s\nwant %s", dst, want)
	}
}

func TestWriter_AllocatesOnlyTheResult(t *testing.T) {
	if raceDetector() {
		t.Skip("under the race detector sync.Pool drops what it is given, to find races")
	}
	labels := map[string]string{"b": "1", "a": "2", "c": "3"}
	dst := make([]byte, 0, 4096)
	allocs := testing.AllocsPerRun(1000, func() {
		w := payload.NewWriter(dst)
		w.Object()
		w.Member(`"a":`).String("text").MaxLength(5)
		w.Member(`"b":`).Array()
		for i := range 3 {
			w.Element(i).DecimalInt64(150, -2).Min("1")
		}
		w.EndArray()
		w.Member(`"c":`).Object()
		for _, k := range payload.Keys(w, labels) {
			w.Key(k).String(labels[k])
		}
		w.EndObject()
		w.Member(`"i":`).Time(time.Unix(1, 0))
		w.EndObject()
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations into a buffer that is large enough", allocs)
	}
}

func TestWriter_NamesEveryViolationWithItsPath(t *testing.T) {
	w := payload.NewWriter([]byte("kept"))
	w.Object()
	w.Member(`"text":`).String("a\xFF")
	w.Member(`"quote\"":`).String("toolong").MinLength(9).MaxLength(3).Pattern(regexp.MustCompile(`^\d$`)).Format(payload.IPv4)
	w.Member(`"list":`).Size(3).Min(4).Max(2)
	w.Array()
	w.Element(0).Int(1 << 53)
	w.Element(1).Int(-(1 << 53))
	w.Element(2).Object()
	w.Member(`"sku":`).Float(math.NaN())
	w.Member(`"map":`).Object()
	for _, k := range payload.Keys(w, map[string]int{"a b": 1, "k": 1, "\xFE": 1}) {
		w.Key(k).Float(math.Inf(-1))
	}
	w.EndObject()
	w.EndObject()
	w.EndArray()
	w.Member(`"time":`).Time(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)).Max(time.Unix(0, 0))
	w.Member(`"early":`).Time(time.Unix(0, 0)).Min(time.Unix(0, 1))
	w.Member(`"date":`).Date(outbox.Date{})
	w.Member(`"day":`).Date(outbox.Date{Year: 2026, Month: 2, Day: 28}).Min(outbox.Date{Year: 2026, Month: 3, Day: 1}).Max(outbox.Date{Year: 2025, Month: 3, Day: 1})
	w.Member(`"bytes":`).Bytes([]byte{1}).MinLength(2).MaxLength(0)
	w.Member(`"json":`).JSON(nil)
	w.Member(`"json2":`).JSON(json.RawMessage(`{"a":1,"a":2}`))
	payload.Enum(w.Member(`"channel":`), channel("fax"), "web, phone")
	w.Member(`"wait":`).Duration(time.Second).Min(time.Minute)
	w.Member(`"share":`).Float(2.5).Max(1)
	w.EndObject()
	dst, err := w.Close()
	if string(dst) != "kept" {
		t.Errorf("an invalid value left %s", dst)
	}
	want := []string{
		`text: invalid UTF-8 at byte 1`,
		`["quote\""]: has 7 characters, fewer than 9`,
		`["quote\""]: has 7 characters, more than 3`,
		`["quote\""]: does not match the pattern "^\\d$"`,
		`["quote\""]: is not an IPv4 address`,
		`list: has 3 items, fewer than 4`,
		`list: has 3 items, more than 2`,
		`list[0]: integer 9007199254740992 is outside ±(2^53−1)`,
		`list[1]: integer -9007199254740992 is outside ±(2^53−1)`,
		`list[2].sku: number is NaN`,
		`list[2].map["a b"]: number is -Inf`,
		`list[2].map.k: number is -Inf`,
		`list[2].map["\xfe"]: invalid UTF-8`,
		`list[2].map["\xfe"]: number is -Inf`,
		`time: year 10000 is outside 0000 to 9999`,
		`time: is 10000-01-01T00:00:00Z, after 1970-01-01T00:00:00Z`,
		`early: is 1970-01-01T00:00:00Z, before 1970-01-01T00:00:00.000000001Z`,
		`date: `,
		`day: is 2026-02-28, before 2026-03-01`,
		`day: is 2026-02-28, after 2025-03-01`,
		`bytes: has 1 byte, fewer than 2`,
		`bytes: has 1 byte, more than 0`,
		`json: is empty`,
		`json2: `,
		`channel: "fax" is not one of web, phone`,
		`wait: is 1s, less than 1m0s`,
		`share: is 2.5, more than 1`,
	}
	have := strings.Split(err.Error(), "\n")
	for i := range max(len(have), len(want)) {
		h, x := "", "nothing"
		if i < len(have) {
			h = have[i]
		}
		if i < len(want) {
			x = want[i]
		}
		if !strings.HasPrefix(h, x) || x == "" {
			t.Errorf("have %s\nwant %s", h, x)
		}
	}
}

func TestWriter_BoundsTheError(t *testing.T) {
	w := payload.NewWriter(nil)
	w.Array()
	for i := range 1000 {
		w.Element(i).Float(math.NaN())
	}
	w.EndArray()
	_, err := w.Close()
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 101 || lines[100] != "and 900 more" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

func TestWriter_CutsEndlessNesting(t *testing.T) {
	type node struct{ next *node }
	var write func(w *payload.Writer, n *node)
	write = func(w *payload.Writer, n *node) {
		if w.TooDeep() {
			return
		}
		w.Object()
		write(w.Member(`"next":`), n.next)
		w.EndObject()
	}
	loop := &node{}
	loop.next = loop
	w := payload.NewWriter(nil)
	write(w, loop)
	if _, err := w.Close(); err == nil || !strings.Contains(err.Error(), "more than 900 levels") {
		t.Error(err)
	}
}

func TestWriter_NestedMapsKeepTheirKeys(t *testing.T) {
	m := map[string]map[string]int{}
	for _, k := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		m[k] = map[string]int{"z": 1, "y": 2, "x": 3}
	}
	w := payload.NewWriter(nil)
	w.Object()
	for _, k := range payload.Keys(w, m) {
		w.Key(k).Object()
		for _, k2 := range payload.Keys(w, m[k]) {
			w.Key(k2).Int(int64(m[k][k2]))
		}
		w.EndObject()
	}
	w.EndObject()
	have, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(m) // sorted, and all ASCII
	if string(have) != string(want) {
		t.Errorf("have %s\nwant %s", have, want)
	}
}

// raceDetector reports a test binary built with -race.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
