package payload_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/payload"
)

type order struct {
	ID    string
	Note  *string
	Tags  []string
	Rows  []row
	Extra json.RawMessage
	Price outbox.Optional[int64]
	Gone  *int64
	Blob  []byte
}

type row struct{ N int64 }

func readRow(v payload.Value) row {
	o := v.Object()
	e := row{N: o.Required("n").Int()}
	o.End()
	return e
}

func readOrder(v payload.Value) order {
	o := v.Object()
	e := order{
		Blob:  o.Optional("blob").Bytes(),
		Extra: o.Optional("extra").JSON(),
		Gone:  payload.Pointer(o.Required("gone").OrNull(), payload.Value.Int),
		ID:    o.Required("id").String(),
		Note:  payload.Pointer(o.Optional("note"), payload.Value.String),
		Price: payload.Optional(o.Optional("price"), payload.Value.Int),
		Rows:  payload.List(o.Required("rows"), readRow),
		Tags:  payload.List(o.Optional("tags"), payload.Value.String),
	}
	o.End()
	return e
}

func TestUnmarshal_TellsTheFourCasesApart(t *testing.T) {
	read := func(text string) order {
		t.Helper()
		var o order
		if err := payload.Unmarshal([]byte(text), &o, readOrder); err != nil {
			t.Fatal(err)
		}
		return o
	}
	o := read(`{"gone":null,"id":"","rows":[]}`)
	if o.Note != nil || o.Tags != nil || o.Rows == nil || o.Extra != nil || o.Price.IsSet() || o.Gone != nil || o.Blob != nil {
		t.Errorf("absent: %+v", o)
	}
	o = read(`{"tags":[],"note":"","rows":[{"n":1,"more":{}}],"price":null,"extra":null,"id":"x","gone":0,"unknown":1,"blob":""}`)
	if o.Note == nil || *o.Note != "" || o.Tags == nil || len(o.Rows) != 1 || string(o.Extra) != "null" || !o.Price.IsNull() || o.Gone == nil || o.Blob == nil {
		t.Errorf("empty: %+v", o)
	}
	o = read(`{"price":0,"rows":[],"id":"x","gone":null}`)
	if v, ok := o.Price.Get(); !ok || v != 0 {
		t.Errorf("zero: %+v", o)
	}
}

func TestUnmarshal_NamesEveryFault(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "gone: is missing\nid: is missing\nrows: is missing",
		`{"gone":null,"id":null,"rows":null,"note":null,"tags":null}`: "id: null where a string is expected\nnote: null where a string is expected\n" +
			"rows: null where an array is expected\ntags: null where an array is expected",
		`{"gone":"1","id":1,"rows":[{"n":1.5},{"n":2},{"N":3}]}`: "gone: a string where a number is expected\nid: a number where a string is expected\n" +
			"rows[0].n: number 1.5 is not an integer\nrows[2].n: is missing\nrows[2]: member \"N\" differs from \"n\" only by case",
		`{"gone":null,"id":"","rows":[],"NOTE":"a","İd":1}`: `member "NOTE" differs from "note" only by case`,
		`null`:                                  "null where an object is expected",
		`[]`:                                    "an array where an object is expected",
		``:                                      "",
		`{"id":"`:                               "",
		`{} {}`:                                 "",
		`{"id":1,"id":2}`:                       "",
		`{"gone":null,"id":"\ud800","rows":[]}`: "",
	} {
		o := order{ID: "kept"}
		err := payload.Unmarshal([]byte(text), &o, readOrder)
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		if want != "" && err.Error() != want {
			t.Errorf("%s:\nhave %s\nwant %s", text, err, want)
		}
		if o.ID != "kept" {
			t.Errorf("%s: the target was changed", text)
		}
	}
	if err := payload.Unmarshal(nil, new(order), readOrder); err == nil {
		t.Error("nil: no error")
	}
}

func TestUnmarshal_DoesNotKeepTheInput(t *testing.T) {
	text := []byte(`{"extra":[1],"gone":null,"id":"abc","rows":[]}`)
	var o order
	if err := payload.Unmarshal(text, &o, readOrder); err != nil {
		t.Fatal(err)
	}
	clear(text)
	if o.ID != "abc" || string(o.Extra) != "[1]" {
		t.Errorf("%+v", o)
	}
}

func TestUnmarshal_SurvivesManyUnknownMembers(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"gone":null,"id":"","rows":[]`)
	for i := range 20000 {
		fmt.Fprintf(&b, `,"x%d":0`, i)
	}
	b.WriteString("}")
	if err := payload.Unmarshal([]byte(b.String()), new(order), readOrder); err != nil {
		t.Error(err)
	}
}

func TestValue_ScalarsRefuseOtherKinds(t *testing.T) {
	reads := map[string]func(payload.Value){
		"string":   func(v payload.Value) { _ = v.String() },
		"bool":     func(v payload.Value) { v.Bool() },
		"int":      func(v payload.Value) { v.Int() },
		"int64":    func(v payload.Value) { v.Int64() },
		"float":    func(v payload.Value) { v.Float() },
		"time":     func(v payload.Value) { v.Time() },
		"date":     func(v payload.Value) { v.Date() },
		"duration": func(v payload.Value) { v.Duration() },
		"uuid":     func(v payload.Value) { v.UUID() },
		"bytes":    func(v payload.Value) { v.Bytes() },
		"decimal":  func(v payload.Value) { v.Decimal() },
		"object":   func(v payload.Value) { v.Object().End() },
		"list":     func(v payload.Value) { payload.List(v, payload.Value.String) },
		"map":      func(v payload.Value) { payload.Map(v, payload.Value.String) },
		"pointer":  func(v payload.Value) { payload.Pointer(v, payload.Value.String) },
	}
	good := map[string]string{
		"string": `"a"`, "bool": `true`, "int": `1`, "int64": `"1"`, "float": `1.5`, "time": `"2026-01-31T10:00:00+01:00"`, "date": `"2026-01-31"`,
		"duration": `"1h"`, "uuid": `"0193F2A4-0000-7000-8000-00000000000F"`, "bytes": `"/w=="`, "decimal": `"1.50"`, "object": `{}`, "list": `["a"]`,
		"map": `{"a":"b"}`, "pointer": `""`,
	}
	bad := []string{
		`null`, `[[]]`, `{"a":{}}`, `"\uD800"`, `12x`, `1e999`, `"{0193f2a4-0000-7000-8000-000000000000}"x`, `truex`,
	}
	for name, read := range reads {
		check := func(text string) error {
			return payload.Unmarshal([]byte(text), new(bool), func(v payload.Value) bool { read(v); return true })
		}
		if err := check(good[name]); err != nil {
			t.Errorf("%s: %s: %v", name, good[name], err)
		}
		for _, text := range bad {
			if name == "object" && text == `{"a":{}}` {
				continue // an unknown member
			}
			if err := check(text); err == nil {
				t.Errorf("%s: %s is taken", name, text)
			}
		}
	}
}

func TestValue_RefusesOtherSpellingsOfUUIDs(t *testing.T) {
	for _, s := range []string{"0193f2a400007000800000000000000f", "{0193f2a4-0000-7000-8000-00000000000f}", "urn:uuid:0193f2a4-0000-7000-8000-00000000000f", ""} {
		err := payload.Unmarshal(fmt.Appendf(nil, "%q", s), new(bool), func(v payload.Value) bool { v.UUID(); return true })
		if err == nil {
			t.Errorf("%q is taken", s)
		}
	}
}
