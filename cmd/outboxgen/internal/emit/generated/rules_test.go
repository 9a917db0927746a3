package generated_test

import (
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/design"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/everything"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/shopspring/decimal"
)

func keptRules() everything.RulesKept {
	return everything.RulesKept{
		Text:           "abé",
		DecimalRange:   decimal.New(1, -2),
		TimestampRange: time.Date(2026, 1, 2, 1, 4, 5, 6, time.UTC),
		DateRange:      outbox.Date{Year: 2026, Month: 1, Day: 31},
		BytesLength:    []byte{1},
		ListSize:       []string{"a"},
	}
}

func TestValidate_HoldsEveryRule(t *testing.T) {
	ptr := func(s string) *string { return &s }
	if err := keptRules().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		break_ func(*everything.RulesKept)
		want   string
	}{
		"min_length":    {func(e *everything.RulesKept) { e.Text = "é" }, "text: has 1 character, fewer than 2"},
		"max_length":    {func(e *everything.RulesKept) { e.Text = "éééééé" }, "text: has 6 characters, more than 5"},
		"pattern":       {func(e *everything.RulesKept) { e.Text = "AB" }, `text: does not match the pattern "^[a-zé]*$"`},
		"optional":      {func(e *everything.RulesKept) { e.OptionalText = ptr("abcd") }, "optional_text: has 4 characters, more than 3"},
		"email":         {func(e *everything.RulesKept) { e.Email = ptr("a") }, "email: is not an email address"},
		"uri":           {func(e *everything.RulesKept) { e.URI = ptr("/a") }, "uri: is not an absolute URI"},
		"hostname":      {func(e *everything.RulesKept) { e.Hostname = ptr("") }, "hostname: is not a host name"},
		"ipv4":          {func(e *everything.RulesKept) { e.Ipv4 = ptr("::") }, "ipv4: is not an IPv4 address"},
		"ipv6":          {func(e *everything.RulesKept) { e.Ipv6 = ptr("1.2.3.4") }, "ipv6: is not an IPv6 address"},
		"int min":       {func(e *everything.RulesKept) { e.IntRange = -4 }, "int_range: is -4, less than -3"},
		"int64 max":     {func(e *everything.RulesKept) { e.Int64Range = math.MaxInt64 }, "int64_range: is 9223372036854775807, more than 9223372036854775806"},
		"float min":     {func(e *everything.RulesKept) { e.FloatRange = -0.75 }, "float_range: is -0.75, less than -0.5"},
		"float max":     {func(e *everything.RulesKept) { e.FloatRange = 1000.5 }, "float_range: is 1000.5, more than 1000"},
		"decimal min":   {func(e *everything.RulesKept) { e.DecimalRange = decimal.New(9, -3) }, "decimal_range: is 0.009, less than 0.01"},
		"decimal max":   {func(e *everything.RulesKept) { e.DecimalRange = decimal.New(1, 20) }, "decimal_range: is 100000000000000000000, more than 99999999999999999999.5"},
		"timestamp min": {func(e *everything.RulesKept) { e.TimestampRange = e.TimestampRange.Add(-1) }, "timestamp_range: is 2026-01-02T01:04:05.000000005Z, before 2026-01-02T01:04:05.000000006Z"},
		"timestamp max": {func(e *everything.RulesKept) { e.TimestampRange = time.Date(2027, 1, 1, 0, 0, 0, 1, time.UTC) }, "timestamp_range: is 2027-01-01T00:00:00.000000001Z, after 2027-01-01T00:00:00Z"},
		"date min":      {func(e *everything.RulesKept) { e.DateRange.Day = 30 }, "date_range: is 2026-01-30, before 2026-01-31"},
		"date max":      {func(e *everything.RulesKept) { e.DateRange.Year = 2027 }, "date_range: is 2027-01-31, after 2026-12-31"},
		"duration min":  {func(e *everything.RulesKept) { e.DurationRange = -2 }, "duration_range: is -2ns, less than -1ns"},
		"duration max":  {func(e *everything.RulesKept) { e.DurationRange = 2 * time.Hour }, "duration_range: is 2h0m0s, more than 1h30m0s"},
		"bytes min":     {func(e *everything.RulesKept) { e.BytesLength = nil }, "bytes_length: has 0 bytes, fewer than 1"},
		"bytes max":     {func(e *everything.RulesKept) { e.BytesLength = make([]byte, 5) }, "bytes_length: has 5 bytes, more than 4"},
		"min_items":     {func(e *everything.RulesKept) { e.ListSize = nil }, "list_size: has 0 items, fewer than 1"},
		"max_items":     {func(e *everything.RulesKept) { e.ListSize = []string{"a", "a", "a", "a"} }, "list_size: has 4 items, more than 3"},
		"element":       {func(e *everything.RulesKept) { e.ListSize = []string{"a", "b"} }, `list_size[1]: does not match the pattern "^a"`},
		"map size":      {func(e *everything.RulesKept) { e.MapSize = map[string]decimal.Decimal{"a": {}, "b": {}, "c": {}} }, "map_size: has 3 items, more than 2"},
		"map element":   {func(e *everything.RulesKept) { e.MapSize = map[string]decimal.Decimal{"a b": decimal.New(501, -2)} }, `map_size["a b"]: is 5.01, more than 5`},
		"nested":        {func(e *everything.RulesKept) { e.Nested = [][]int64{{}, {0, 10}} }, "nested[1][1]: is 10, more than 9"},
		"several":       {func(e *everything.RulesKept) { e.Text, e.ListSize = "", nil }, "list_size: has 0 items, fewer than 1\ntext: has 0 characters, fewer than 2"},
	} {
		t.Run(name, func(t *testing.T) {
			e := keptRules()
			c.break_(&e)
			err := e.Validate()
			if err == nil || err.Error() != c.want {
				t.Errorf("have %v\nwant %s", err, c.want)
			}
			if _, err := e.AppendCanonical(nil); err == nil || err.Error() != c.want {
				t.Errorf("AppendCanonical: have %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestAppendCanonical_NamesTheFieldOfWhatJSONCannotHold: at insert, before
// anything is written.
func TestAppendCanonical_NamesTheFieldOfWhatJSONCannotHold(t *testing.T) {
	o := events.OrderCreated{
		OrderID:       uuid.Max,
		CustomerEmail: "a\xC0",
		PlacedAt:      time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC),
		Amount:        decimal.New(1, math.MaxInt32),
		Items:         []events.LineItem{{Quantity: 1}, {Quantity: 1}, {Quantity: 1 << 60, Sku: "\xFF"}},
		Labels:        map[string]string{"ok": "\xED\xA0\x80"},
	}
	err := o.Validate()
	for _, want := range []string{
		"amount: has more than 500 digits", `channel: "" is not one of web, phone, partner`, "customer_email: invalid UTF-8 at byte 1",
		"items[2].quantity: integer 1152921504606846976 is outside", "items[2].sku: invalid UTF-8 at byte 0", "labels.ok: invalid UTF-8",
		"placed_at: year -1 is outside",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	for text, want := range map[string]string{
		`{"a":1,"a":2}`:          `json_value: duplicate member name "a"`,
		`{"n":9007199254740993}`: "json_value.n: integer 9007199254740993",
		`"\ud800"`:               "json_value: ",
		``:                       "json_value: is empty",
		`1 2`:                    "json_value: ",
		"\"\xFF\"":               "json_value: invalid UTF-8",
		`{"n":[1e400]}`:          "json_value.n[0]: number 1e400",
	} {
		e := everything.ScalarsOptional{JSONValue: []byte(text)}
		if _, err := e.AppendCanonical(nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: have %v, want %s", text, err, want)
		}
	}
}

// TestUnmarshalJSON_LeavesRulesToTheSender: a receiver that knows an older
// spec must not refuse what a newer one allows.
func TestUnmarshalJSON_LeavesRulesToTheSender(t *testing.T) {
	var l events.LineItem
	if err := l.UnmarshalJSON([]byte(`{"quantity":0,"sku":"","unit_price":"1.50","new":[{}]}`)); err != nil {
		t.Fatal(err)
	}
	if err := l.Validate(); err == nil || err.Error() != "quantity: is 0, less than 1" {
		t.Error(err)
	}
}

func TestAppendCanonical_EndlessValue(t *testing.T) {
	n := &everything.Node{}
	n.Parent = n
	if err := n.Validate(); err == nil || !strings.Contains(err.Error(), "nested more than 900 levels") {
		t.Error(err)
	}
}

func TestAppendCanonical_AllocatesAtMostOnce(t *testing.T) {
	if raceDetector() {
		t.Skip("under the race detector sync.Pool drops what it is given, to find races")
	}
	o := sampleOrder()
	for _, c := range []struct {
		dst  []byte
		most float64
	}{{nil, 1}, {make([]byte, 0, 1024), 0}} {
		allocs := testing.AllocsPerRun(500, func() {
			if _, err := o.AppendCanonical(c.dst); err != nil {
				t.Fatal(err)
			}
		})
		if allocs > c.most {
			t.Errorf("%v allocations where %v would do", allocs, c.most)
		}
	}
}

// raceDetector reports a test binary built with -race.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
