package emit

import (
	"encoding/json"
	"reflect"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

func TestEncodeYAML_KeepsEveryText(t *testing.T) {
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "\n", "a\n", " a", "a\n\nb", "a\n  b", "null", "true", "1", "1e3", "~", "- a", "a: b", "#", "%", "@", "`", "'", "\"", "\\", "\t", "a\tb", "\u0085", "\u2028",
		"\uFEFF", "2026-01-01", "0x1", ".5", "<<", "=", "y", "NO", "|", ">", "a #b", "\x00", "\x7f", "a\r\nb", "---", "...", "[", "{", "*a", "&a", "!a", "?",
	}))
	rapid.Check(t, func(t *rapid.T) {
		s := texts.Draw(t, "text")
		out, err := encodeYAML(object{{s, s}, {"list\x00", []any{s, []any{}, object{}, true, nil, json.Number("9007199254740993"), json.Number("1e21")}}})
		if err != nil {
			t.Fatal(err)
		}
		var have map[string]any
		if err := yaml.Unmarshal(out, &have); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want := map[string]any{s: s, "list\x00": []any{s, []any{}, map[string]any{}, true, nil, 9007199254740993, 1e21}}
		if !reflect.DeepEqual(have, want) {
			t.Fatalf("have %#v\nwant %#v\n%s", have, want, out)
		}
	})
}

func TestParseJSON_KeepsOrderAndDigits(t *testing.T) {
	const text = `{"b":[1.50,9007199254740993,1E2],"a":{"z":null,"y":"<é>"},"":true}`
	tree, err := parseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := encodeJSON(tree)
	if err != nil {
		t.Fatal(err)
	}
	const want = "{\n  \"b\": [\n    1.50,\n    9007199254740993,\n    1E2\n  ],\n  \"a\": {\n    \"z\": null,\n    \"y\": \"<é>\"\n  },\n  \"\": true\n}\n"
	if string(out) != want {
		t.Errorf("have %s\nwant %s", out, want)
	}
	for _, bad := range []string{"", "{", "1 2", `{"a":}`, "[1,]"} {
		if _, err := parseJSON(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
