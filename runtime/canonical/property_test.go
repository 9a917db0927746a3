package canonical_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
	"github.com/outboxgen/outboxgen/runtime/canonical"
	"pgregory.net/rapid"
)

// member and document are JSON values that remember the order of their members.
type member struct {
	name  string
	value any
}

// drawText draws strings that are rich in what escaping and ordering trip over.
func drawText(t *rapid.T) string {
	runes := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]rune{0, 1, '\b', '\t', '\n', '\f', '\r', 0x1b, 0x1f, ' ', '"', '/', '\\', '<', '&', 0x7f, 0x80,
			0x2028, 0xd7ff, 0xe000, 0xfb33, 0xfffd, 0xfffe, 0xffff, 0x10000, 0x1f600, 0x10ffff}),
		rapid.Rune(),
		rapid.Custom(func(t *rapid.T) rune { return rune(rapid.IntRange('a', 'd').Draw(t, "letter")) }),
	), 0, 6).Draw(t, "text")
	for i, r := range runes {
		if utf16.IsSurrogate(r) {
			runes[i] = utf8.RuneError
		}
	}
	return string(runes)
}

func drawValue(t *rapid.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "literal")
	case 1:
		return drawText(t)
	case 2:
		return rapid.Int64Range(-canonical.MaxInt, canonical.MaxInt).Draw(t, "integer")
	case 3:
		f := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return 0.5
		}
		return f
	case 4:
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return drawValue(t, depth-1) }), 0, 4).Draw(t, "array")
	default:
		names := rapid.SliceOfNDistinct(rapid.Custom(drawText), 0, 6, rapid.ID[string]).Draw(t, "names")
		members := make([]member, len(names))
		for i, name := range names {
			members[i] = member{name, drawValue(t, depth-1)}
		}
		return members
	}
}

// spell writes a value in one of its many spellings.
func spell(b *bytes.Buffer, r *rand.Rand, v any) {
	blank := func() { b.WriteString([]string{"", "", "", " ", "\n", "\t\r"}[r.IntN(6)]) }
	blank()
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		spellFloat(b, r, v)
	case string:
		spellString(b, r, v)
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			spell(b, r, e)
		}
		blank()
		b.WriteByte(']')
	case []member:
		b.WriteByte('{')
		v = slices.Clone(v)
		r.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			blank()
			spellString(b, r, m.name)
			blank()
			b.WriteByte(':')
			spell(b, r, m.value)
		}
		blank()
		b.WriteByte('}')
	}
	blank()
}

func spellFloat(b *bytes.Buffer, r *rand.Rand, f float64) {
	switch r.IntN(3) {
	case 0:
		b.WriteString(strconv.FormatFloat(f, 'e', -1, 64))
	case 1:
		b.WriteString(strconv.FormatFloat(f, 'E', 25, 64))
	default:
		text := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		b.WriteString(text)
	}
}

func spellString(b *bytes.Buffer, r *rand.Rand, s string) {
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c < 0x20 || c == '"' || c == '\\' || r.IntN(4) == 0:
			for _, unit := range utf16.Encode([]rune{c}) {
				fmt.Fprintf(b, []string{`\u%04x`, `\u%04X`}[r.IntN(2)], unit)
			}
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
}

func TestTransform_SpellingNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 4)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var one, two bytes.Buffer
		spell(&one, r, v)
		spell(&two, r, v)
		want, err := jcs.Transform(one.Bytes())
		if err != nil {
			t.Fatalf("jcs: %v", err)
		}
		for _, raw := range [][]byte{one.Bytes(), two.Bytes(), want} {
			got, err := canonical.Transform(raw)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("Transform(%q)\n got %s, %v\nwant %s", raw, got, err, want)
			}
		}
	})
}

func TestAppends_AgreeWithTransform(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawText(t)
		viaJSON, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jcs.Transform(viaJSON)
		if err != nil {
			t.Fatal(err)
		}
		got, err := canonical.AppendString(nil, s)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("AppendString(%q) = %s, %v; want %s", s, got, err, want)
		}
		if back, err := canonical.ParseString(got); err != nil || back != s {
			t.Fatalf("ParseString(%s) = %q, %v", got, back, err)
		}
		f := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return
		}
		number, err := jcs.NumberToJSON(f)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := canonical.AppendFloat(nil, f); err != nil || string(got) != number {
			t.Fatalf("AppendFloat(%x) = %s, %v; want %s", math.Float64bits(f), got, err, number)
		}
	})
}

func TestLess_IsTheOrderOfUTF16Units(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawText(t), drawText(t)
		want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) < 0
		if got := canonical.Less(a, b); got != want {
			t.Fatalf("Less(%q, %q) = %t", a, b, got)
		}
	})
}
