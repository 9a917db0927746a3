//lint:file-ignore SA1019 deprecated events are tested like any others

package generated_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/emittest"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/design"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/everything"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/names"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/own"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/testdata/texts"
)

// event is what every generated struct can do, by pointer.
type event interface {
	json.Marshaler
	json.Unmarshaler
	Validate() error
	AppendCanonical(dst []byte) ([]byte, error)
}

// golden are the events of the golden packages.
var golden = map[string][]event{
	"design": {new(events.OrderCreated)},
	"everything": {
		new(everything.EmptyHappened), new(everything.ScalarsRequired), new(everything.ScalarsOptional), new(everything.ScalarsNullable),
		new(everything.ScalarsBoth), new(everything.ListsRequired), new(everything.ListsOptional), new(everything.ListsNullable),
		new(everything.ListsBoth), new(everything.MapsRequired), new(everything.MapsOptional), new(everything.MapsNullable),
		new(everything.MapsBoth), new(everything.TreesGrown), new(everything.RulesKept), new(everything.KeyText), new(everything.KeyInt),
		new(everything.KeyInt64), new(everything.KeyUUID), new(everything.KeyColour), new(everything.KeyBool), new(everything.KeyDate), new(everything.KeyTime), new(everything.KeyDuration),
		new(everything.KeyDecimal), new(everything.KeyOptionalDecimal), new(everything.KeyBytes), new(everything.Examples),
		new(everything.Versions), new(everything.VersionsV1),
		new(everything.Retired), new(everything.Nowhere),
	},
	"names": {
		new(names.Signs), new(names.N2faChanged), new(names.N3dsChallengeCompleted), new(names.Keywords), new(names.Type), new(names.Nil),
		new(names.Wire), new(names.CapsAndDashesAndDotsSlashes),
	},
	"own":   {new(own.Sent), new(own.Keyed)},
	"texts": {new(texts.Told)},
}

func typeName(e event) string { return reflect.TypeOf(e).Elem().Name() }

func blank(e event) event { return reflect.New(reflect.TypeOf(e).Elem()).Interface().(event) }

// TestAppendCanonical_IsRFC8785OfTheValue reads random values in texts that
// are not canonical, and compares what is written with what an independent
// implementation makes of the text.
func TestAppendCanonical_IsRFC8785OfTheValue(t *testing.T) {
	for folder, list := range golden {
		s := emittest.Load(t, "../testdata/"+folder)
		for _, e := range s.Events {
			if e.GoName == "Wrong" {
				continue // cannot be written, see TestOwnType_WithoutMethods
			}
			i := indexOf(list, e.GoName)
			if i < 0 {
				t.Errorf("%s.%s is not tested", folder, e.GoName)
				continue
			}
			for seed := range uint64(100) {
				sample := emittest.NewSampler(seed)
				sample.Full = seed == 0
				text := sample.Text(e.Fields)
				checkCanonical(t, blank(list[i]), text)
			}
		}
	}
}

func indexOf(list []event, name string) int {
	for i, e := range list {
		if typeName(e) == name {
			return i
		}
	}
	return -1
}

func checkCanonical(t *testing.T, e event, text []byte) {
	t.Helper()
	want, err := jcs.Transform(text)
	if err != nil {
		t.Fatalf("%s: jcs: %v", text, err)
	}
	if err := e.UnmarshalJSON(text); err != nil {
		t.Fatalf("%s does not read %s: %v", typeName(e), text, err)
	}
	have, err := e.AppendCanonical([]byte("x"))
	if err != nil {
		t.Fatalf("%s does not write %s: %v", typeName(e), text, err)
	}
	if !bytes.Equal(have, append([]byte("x"), want...)) {
		t.Fatalf("%s\nread  %s\nhave %s\nwant  %s", typeName(e), text, have, want)
	}
	if err := e.Validate(); err != nil {
		t.Fatalf("%s is not valid: %v", want, err)
	}
	again := blank(e)
	if err := again.UnmarshalJSON(want); err != nil {
		t.Fatalf("%s does not read its own %s: %v", typeName(e), want, err)
	}
	if have, err := again.AppendCanonical(nil); err != nil || !bytes.Equal(have, want) {
		t.Fatalf("%s comes back as %s, %v", want, have, err)
	}
	// encoding/json escapes what it finds risky; the value is the same.
	if marshalled, err := json.Marshal(e); err != nil {
		t.Fatal(err)
	} else if have, err := jcs.Transform(marshalled); err != nil || !bytes.Equal(have, want) {
		t.Fatalf("json.Marshal of %s: %s, %v", want, marshalled, err)
	}
}

// TestCase_W01 is key order above U+FFFF: by UTF-16 units, not by bytes.
func TestCase_W01(t *testing.T) {
	have, err := (&names.Wire{}).AppendCanonical(nil)
	if err != nil {
		t.Fatal(err)
	}
	emoji, hebrew := bytes.Index(have, []byte(`"😀"`)), bytes.Index(have, []byte("\"\uFB33\""))
	if emoji < 0 || hebrew < emoji {
		t.Errorf("the emoji is not before U+FB33: %s", have)
	}
	m := everything.MapsRequired{StringMap: map[string]string{"\uFB33": "1", "😀": "2"}}
	e := everything.MapsRequired{}
	fill := emittest.NewSampler(1)
	fill.Full = true
	s := emittest.Load(t, "../testdata/everything")
	for _, event := range s.Events {
		if event.GoName == "MapsRequired" {
			if err := e.UnmarshalJSON(fill.Text(event.Fields)); err != nil {
				t.Fatal(err)
			}
		}
	}
	e.StringMap = m.StringMap
	have, err = e.AppendCanonical(nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "\"string_map\":{\"😀\":\"2\",\"\uFB33\":\"1\"}"; !strings.Contains(string(have), want) {
		t.Errorf("no %s in %s", want, have)
	}
}

// TestCase_W02 is integers beyond 2^53: refused as numbers, kept apart as
// texts.
func TestCase_W02(t *testing.T) {
	for _, n := range []int64{1 << 53, 1<<53 + 1, -1 << 53, 1<<63 - 1, -1 << 63} {
		if _, err := (everything.KeyInt{K: n}).AppendCanonical(nil); err == nil || !strings.HasPrefix(err.Error(), "k: integer") {
			t.Errorf("%d: %v", n, err)
		}
	}
	a, b := int64(1<<53), int64(1<<53+1)
	textA, errA := everything.KeyInt64{K: &a}.AppendCanonical(nil)
	textB, errB := everything.KeyInt64{K: &b}.AppendCanonical(nil)
	if errA != nil || errB != nil || string(textA) != `{"k":"9007199254740992"}` || string(textB) != `{"k":"9007199254740993"}` {
		t.Errorf("%s, %v; %s, %v", textA, errA, textB, errB)
	}
	for _, text := range []string{`{"k":9007199254740992}`, `{"k":1.5}`, `{"k":1e0}`, `{"k":"1"}`} {
		if err := new(everything.KeyInt).UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s is read as an int", text)
		}
	}
}

// TestCase_G14 is absent, null, zero and empty.
func TestCase_G14(t *testing.T) {
	text := func(e event) string {
		t.Helper()
		b, err := e.AppendCanonical(nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if have := text(&everything.EmptyHappened{}); have != `{}` {
		t.Errorf("the empty event is %s", have)
	}
	if have := text(&everything.ScalarsOptional{}); have != `{}` {
		t.Errorf("absent members are written: %s", have)
	}
	if have := text(&everything.ScalarsBoth{}); have != `{}` {
		t.Errorf("absent members are written: %s", have)
	}
	nulls := text(&everything.ScalarsNullable{})
	if strings.Count(nulls, ":null") != len(emittest.Load(t, "../testdata/everything").Events[3].Fields) {
		t.Errorf("a nullable member of a nil pointer is not null: %s", nulls)
	}
	// The zero value of every type that has one is written.
	zero := everything.RulesKept{Text: "ab"}
	if _, err := zero.AppendCanonical(nil); err == nil {
		t.Error("the rules are not checked")
	}
	for _, e := range []everything.Versions{{}, {B: new(string)}} {
		want := `{"a":0}`
		if e.B != nil {
			want = `{"a":0,"b":""}`
		}
		if have := text(&e); have != want {
			t.Errorf("have %s, want %s", have, want)
		}
	}
}

// TestRequiredListAndMap_NilAndEmptyAreTheSame: and so is the idempotency key
// of the payload.
func TestRequiredListAndMap_NilAndEmptyAreTheSame(t *testing.T) {
	o := events.OrderCreated{Channel: events.OrderCreatedChannelWeb}
	unset, err := o.AppendCanonical(nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Items, o.Labels = []events.LineItem{}, map[string]string{}
	empty, err := o.AppendCanonical(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(unset, empty) || !bytes.Contains(empty, []byte(`"items":[],"labels":{}`)) {
		t.Errorf("nil  %s\nempty %s", unset, empty)
	}
	o.Tags = []string{}
	if tagged, _ := o.AppendCanonical(nil); !bytes.Contains(tagged, []byte(`"tags":[]`)) {
		t.Errorf("an optional list that is empty is left out: %s", tagged)
	}
}
