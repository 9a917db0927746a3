package spec

import (
	"fmt"
	"go/token"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestGoName(t *testing.T) {
	for wire, want := range map[string]string{
		// words
		"order.created": "OrderCreated", "order_id": "OrderID", "orderId": "OrderID", "order-id": "OrderID", "OrderID": "OrderID",
		"HTTPServer": "HTTPServer", "httpServer": "HTTPServer", "userIDs": "UserIDs", "user_ids": "UserIDs", "api_urls": "APIURLs",
		"unit_price": "UnitPrice", "iPhone": "IPhone", "B2B": "B2B", "oauth2Token": "Oauth2Token", "XMLHttpRequest": "XMLHTTPRequest",
		"PAYMENT_FAILED": "PaymentFailed", "USD": "USD", "abc": "Abc", "ABC": "ABC", "_links": "Links", "a/b:c": "ABC", "is": "Is", "s": "S",
		// signs and digits
		"+1": "Plus1", "-1": "Minus1", "Etc/GMT+1": "EtcGMTPlus1", "Etc/GMT-1": "EtcGMT1", "a+b": "APlusB", "id": "ID", "-id": "ID",
		"2fa_secret": "N2faSecret", "5qi": "N5qi", "6to4Interface": "N6to4Interface", "1X": "N1X", "2X": "N2X", "007": "N007",
		"3ds.challenge.completed": "N3dsChallengeCompleted", "v1.2": "V1_2", "v12": "V12", "0.2.0": "N0_2_0",
		// keywords and predeclared names
		"type": "Type", "func": "Func", "len": "Len", "nil": "Nil", "error": "Error", "init": "Init", "main": "Main", "_": "Underscore",
		// no letters at all
		"": "Empty", "*": "Star", "<=": "LessEqual", ">": "Greater", "+": "Plus", "-": "Minus", "😀": "U1F600", "\n": "U000A", " ": "Space",
		// other scripts
		"größe": "Größe", "数量": "X数量", "ünit": "Ünit", "naïve_id": "NaïveID", "ŉame": "Xŉame", "Δ": "Δ", "٣": "N٣",
	} {
		if got := GoName(wire); got != want {
			t.Errorf("GoName(%q) = %s, want %s", wire, got, want)
		}
	}
}

// Whatever the text, the name is an exported Go identifier, and the same each
// time.
func TestGoName_Total(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wire := rapid.OneOf(rapid.String(), rapid.StringMatching(`[+\-_a-zA-Z0-9 .]*`)).Draw(t, "wire")
		name := GoName(wire)
		if err := checkGoName(name); err != nil {
			t.Fatalf("GoName(%q): %v", wire, err)
		}
		if !token.IsIdentifier("Prefix" + EnumValueName(wire)) {
			t.Fatalf("EnumValueName(%q) = %q", wire, EnumValueName(wire))
		}
		if GoName(wire) != name {
			t.Fatalf("GoName(%q) changes", wire)
		}
	})
}

func FuzzGoName(f *testing.F) {
	for _, s := range []string{"", "+1", "-1", "a_b", "数量", "\xff", "ǆ", "e\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, wire string) {
		if err := checkGoName(GoName(wire)); err != nil && utf8.ValidString(wire) {
			t.Fatalf("GoName(%q): %v", wire, err)
		}
	})
}

// specOf makes a spec of one event with the given fields.
func specOf(fields string) string {
	return "version: 1\npackage: events\nsource: /shop\nevents:\n  order.created:\n    to: []\n    idempotency: event\n    fields: " + fields + "\n"
}

func loadText(text string) (*Spec, Diagnostics) {
	return Load("events.yaml", func(string) ([]byte, error) { return []byte(text), nil })
}

func mustLoad(t *testing.T, text string) *Spec {
	t.Helper()
	s, diagnostics := loadText(text)
	if s == nil {
		t.Fatalf("%s\n%s", text, diagnostics)
	}
	return s
}

// Cases G-01, G-03 and G-04: every name is there, unchanged on the wire and
// under a Go name of its own.
func TestNames_FieldsFromTheField(t *testing.T) {
	for _, c := range []struct {
		names []string
		rest  string
	}{
		{[]string{"+1", "-1"}, ""},
		{nil, `zone: {enum: ["Etc/GMT+1", "Etc/GMT+12", "Etc/GMT-1"]}, kind: {enum: [foo-bar, abc, ABC]}`},
		{[]string{"2fa_secret", "5qi", "1X", "2X", "3X", "007"}, ""},
		{[]string{"type", "range", "func", "interface", "package", "default", "switch", "error", "string", "nil", "len", "any", "append", "iota", "init", "main", "_"}, ""},
		{nil, `on: int, null: int, 42: int, true: int, NO: int`},
		{[]string{"größe", "数量", "a b", "a\nb\nc", "*"}, ""},
	} {
		var fields strings.Builder
		for _, name := range c.names {
			fmt.Fprintf(&fields, "%q: int, ", name)
		}
		s := mustLoad(t, specOf("{"+fields.String()+c.rest+"}"))
		seen := map[string]bool{}
		for i, f := range s.Events[0].Fields {
			if i < len(c.names) && f.Name != c.names[i] {
				t.Errorf("wire name %q, want %q", f.Name, c.names[i])
			}
			if checkGoName(f.GoName) != nil || seen[f.GoName] {
				t.Errorf("%q: Go name %q", f.Name, f.GoName)
			}
			seen[f.GoName] = true
		}
		if len(c.names) > 0 && len(seen) != len(c.names) {
			t.Errorf("%d fields of %q", len(seen), c.names)
		}
	}
}

// Adding a member never renames another.
func TestNames_Stable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9+_-]{1,8}`), 2, 8, rapid.ID[string]).Draw(t, "names")
		before := map[string]string{}
		for n := 1; n <= len(names); n++ {
			var b strings.Builder
			for _, name := range names[:n] {
				fmt.Fprintf(&b, "%q: int, ", name)
			}
			s, diagnostics := loadText(specOf("{" + b.String() + "}"))
			if s == nil {
				for _, d := range diagnostics {
					if d.Rule != ruleNameCollision && d.Rule != ruleNameReserved {
						t.Fatalf("%s", d)
					}
				}
				return
			}
			for _, f := range s.Events[0].Fields {
				if was, ok := before[f.Name]; ok && was != f.GoName {
					t.Fatalf("%q was %s and is %s", f.Name, was, f.GoName)
				}
				before[f.Name] = f.GoName
			}
		}
	})
}

func TestNames_GoNameResolvesACollision(t *testing.T) {
	s := mustLoad(t, specOf(`{"id": int, "-id": {type: int, go_name: MinusID}, validate: {type: int, go_name: Validation}, channel: {enum: [a-b, {value: a_b, go_name: AUnderB}]}}`))
	fields := s.Events[0].Fields
	if fields[1].GoName != "MinusID" || fields[1].Name != "-id" || fields[2].GoName != "Validation" {
		t.Errorf("%+v", fields)
	}
	if got := fields[3].Type.Enum.Values[1].GoName; got != "OrderCreatedChannelAUnderB" {
		t.Errorf("enum value: %s", got)
	}
}
