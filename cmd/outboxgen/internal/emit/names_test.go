package emit

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

func TestImportBase(t *testing.T) {
	for path, want := range map[string]string{
		"time": "time", "net/netip": "netip", "example.org/shop/ship": "ship", "example.org/shop/ship/v2": "ship", "gopkg.in/yaml.v3": "yamlv3",
		"example.org/Go-Ship": "goship", "example.org/2024": "pkg", "v2": "v2", "example.org/é": "pkg",
	} {
		if have := importBase(path); have != want {
			t.Errorf("%s: %s, want %s", path, have, want)
		}
	}
}

func TestOwnImports_HaveNamesOfTheirOwn(t *testing.T) {
	var fields []*spec.Field
	for _, path := range []string{"a/len", "b/len", "a/outbox", "a/e", "a/func", "time", "a/v2", "a/fmt"} {
		fields = append(fields, &spec.Field{Name: path, GoName: "F", Type: &spec.TypeRef{Scalar: spec.String}, GoType: &spec.GoType{ImportPath: path, Name: "T"}})
	}
	g := newGenerator(&spec.Spec{Events: []*spec.Event{{Fields: fields}}})
	seen := map[string]string{"time": "the standard library's"}
	for _, f := range fields {
		path := f.GoType.ImportPath
		alias, ok := g.aliases[path]
		if path == "time" {
			if ok {
				t.Errorf("time has the alias %s", alias)
			}
			continue
		}
		if other := seen[alias]; other != "" || isReserved(alias) || alias == "" {
			t.Errorf("%s is called %q, as is %s", path, alias, other)
		}
		seen[alias] = path
	}
}

func TestFiles_RefuseCgo(t *testing.T) {
	field := &spec.Field{Name: "a", GoName: "A", Type: &spec.TypeRef{Scalar: spec.String}, GoType: &spec.GoType{ImportPath: "C", Name: "T"}}
	_, err := Files(&spec.Spec{Package: "events", Events: []*spec.Event{{Name: "a", GoName: "A", Fields: []*spec.Field{field}}}})
	if err == nil || err.Error() != "emit: go_type C.T: cgo's C is no package" {
		t.Error(err)
	}
}

func TestLowerInitial(t *testing.T) {
	for name, want := range map[string]string{
		"Audit": "audit", "HTTPLog": "httpLog", "HTTP": "http", "A": "a", "AB": "ab", "Élan": "élan", "N2fa": "n2fa", "X日本": "x日本",
	} {
		if have := lowerInitial(name); have != want {
			t.Errorf("%s: %s, want %s", name, have, want)
		}
	}
}

func TestDurationLit(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", time.Hour: "time.Hour", 36 * time.Hour: "36 * time.Hour", 90 * time.Second: "90 * time.Second", 1500 * time.Millisecond: "1500 * time.Millisecond",
		time.Microsecond: "time.Microsecond", 1: "1 * time.Nanosecond", -time.Minute: "-1 * time.Minute", math.MinInt64: "-9223372036854775808 * time.Nanosecond",
	} {
		if have := durationLit(d).GoString(); have != want {
			t.Errorf("%d: %s, want %s", d, have, want)
		}
	}
}

func TestHorizon(t *testing.T) {
	for _, c := range []struct {
		d    spec.Destination
		want time.Duration
	}{
		{spec.Destination{}, 0},
		{spec.Destination{Retry: spec.Retry{MaxAttempts: 1, Base: time.Hour, Cap: time.Hour}}, 0},
		{spec.Destination{Retry: spec.Retry{MaxAttempts: 3, Base: time.Hour, Cap: 90 * time.Minute}, Timeout: time.Minute}, 3 * time.Hour},
		{spec.Destination{Retry: spec.Retry{MaxAttempts: 20, Base: 5 * time.Second, Cap: 6 * time.Hour}}, 48 * time.Hour},
		{spec.Destination{Retry: spec.Retry{MaxAttempts: 20, Base: 5 * time.Second, Cap: 6 * time.Hour}, MaxAge: 90 * time.Minute}, 2 * time.Hour},
		{spec.Destination{Retry: spec.Retry{MaxAttempts: math.MaxInt, Base: 1, Cap: math.MaxInt64}}, longestHorizon},
	} {
		if have := horizon(&c.d); have != c.want {
			t.Errorf("%+v: %v, want %v", c.d, have, c.want)
		}
	}
}

func TestComment_IsNoLongerThanItsTextNeeds(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		" \n\t\n":                       "",
		"One.":                          "// One.",
		"a\r\nb\rc":                     "// a\n// b\n// c",
		"  + indented  ":                "//   + indented",
		"+build x":                      `// "+build" x`,
		"go:embed":                      `// "go:embed"`,
		"\x00\u202E😀👩\u200D🔧":           "// \\u0000\\u202e😀👩\u200D🔧",
		strings.Repeat("word ", 20):     "// " + strings.TrimSpace(strings.Repeat("word ", 15)) + "\n// " + strings.TrimSpace(strings.Repeat("word ", 5)),
		strings.Repeat("x", 100):        "// " + strings.Repeat("x", 100),
		"- " + strings.Repeat("y ", 50): "// - " + strings.TrimSpace(strings.Repeat("y ", 50)),
	} {
		if have := strings.Join(comment(text), "\n"); have != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, have, want)
		}
	}
}

func TestCode(t *testing.T) {
	for text, want := range map[string]string{
		"a": "`a`", "": "`\"\"`", " a": "`\" a\"`", "a`b": "`` a`b ``", "a|b": "`a\\|b`", "a\nb": "`\"a\\nb\"`",
	} {
		if have := code(text); have != want {
			t.Errorf("%q: %s, want %s", text, have, want)
		}
	}
}

func TestAnchors_AreGitHubs(t *testing.T) {
	a := anchors{}
	for _, c := range [][2]string{
		{"order.created, version 2", "ordercreated-version-2"}, {"order-created, version 2", "order-created-version-2"},
		{"ordercreated, version 2", "ordercreated-version-2-1"}, {"A_b", "a_b"},
	} {
		if have := a.next(c[0]); have != c[1] {
			t.Errorf("%s: %s, want %s", c[0], have, c[1])
		}
	}
}

func TestCycles(t *testing.T) {
	a, b, c, d, e := &spec.Type{Name: "A"}, &spec.Type{Name: "B"}, &spec.Type{Name: "C"}, &spec.Type{Name: "D"}, &spec.Type{Name: "E"}
	holds := func(owner *spec.Type, held ...*spec.Type) {
		for _, h := range held {
			owner.Fields = append(owner.Fields, &spec.Field{Type: &spec.TypeRef{List: &spec.Element{Type: &spec.TypeRef{Named: h}}}})
		}
	}
	holds(a, b)
	holds(b, c, d)
	holds(c, a)
	holds(d, e, d)
	found := findCycles([]*spec.Type{e, d, c, b, a})
	if !found.together(a, b) || !found.together(b, c) || found.together(a, d) || !found.in(d) || found.in(e) || found.in(nil) {
		t.Errorf("%v", found)
	}
}
