package emittest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// Sampler makes random JSON values that a spec allows. Scalars are in the one
// spelling that the language has for them; everything else about the text (the
// order of members, white space, escapes) is not canonical.
type Sampler struct {
	rand *rand.Rand
	// Full leaves no optional member out and writes no null.
	Full bool
}

// NewSampler returns a sampler whose values depend on the seed alone.
func NewSampler(seed uint64) *Sampler {
	return &Sampler{rand: rand.New(rand.NewPCG(seed, 1))}
}

// Text is a random event as JSON text.
func (s *Sampler) Text(fields []*spec.Field) []byte {
	tree := s.object(fields, 0)
	var raw []byte
	var err error
	if s.oneIn(2) {
		raw, err = json.MarshalIndent(tree, " ", "\t")
	} else {
		raw, err = json.Marshal(tree)
	}
	if err != nil {
		panic(err)
	}
	return raw
}

func (s *Sampler) oneIn(n int) bool { return s.rand.IntN(n) == 0 }

// deep is where recursive types end.
const deep = 4

func (s *Sampler) object(fields []*spec.Field, depth int) map[string]any {
	tree := map[string]any{}
	for _, f := range fields {
		ends := depth >= deep && innermostNamed(f.Type)
		switch {
		case f.Optional && (ends || !s.Full && s.oneIn(3)):
		case f.Nullable && (ends || !s.Full && s.oneIn(3)):
			tree[f.Name] = nil
		default:
			tree[f.Name] = s.value(f.Type, f.Rules, f.GoType, depth)
		}
	}
	return tree
}

func innermostNamed(t *spec.TypeRef) bool {
	for t.List != nil || t.Map != nil {
		if t.List != nil {
			t = t.List.Type
		} else {
			t = t.Map.Type
		}
	}
	return t.Named != nil
}

func (s *Sampler) value(t *spec.TypeRef, rules spec.Rules, own *spec.GoType, depth int) any {
	switch {
	case own != nil:
		return s.own(own)
	case t.Enum != nil:
		return t.Enum.Values[s.rand.IntN(len(t.Enum.Values))].Value
	case t.Named != nil && len(t.Named.Enum) > 0:
		return t.Named.Enum[s.rand.IntN(len(t.Named.Enum))].Value
	case t.Named != nil:
		return s.object(t.Named.Fields, depth+1)
	case t.List != nil:
		list := []any{}
		for range s.size(t.List, rules, depth) {
			list = append(list, s.element(t.List, depth))
		}
		return list
	case t.Map != nil:
		m := map[string]any{}
		for i := range s.size(t.Map, rules, depth) {
			m[fmt.Sprint(s.string(), i)] = s.element(t.Map, depth)
		}
		return m
	}
	return s.scalar(t.Scalar, rules)
}

func (s *Sampler) size(e *spec.Element, rules spec.Rules, depth int) int {
	least, most := 0, 3
	if rules.MinItems != nil {
		least = *rules.MinItems
	}
	if rules.MaxItems != nil {
		most = *rules.MaxItems
	}
	if s.Full {
		least = max(least, 1)
	}
	if depth >= deep && innermostNamed(e.Type) {
		return 0
	}
	return least + s.rand.IntN(max(most-least, 0)+1)
}

func (s *Sampler) element(e *spec.Element, depth int) any {
	if e.Nullable && !s.Full && s.oneIn(3) {
		return nil
	}
	return s.value(e.Type, e.Rules, e.GoType, depth)
}

// own are texts that the types in testdata/own take.
func (s *Sampler) own(t *spec.GoType) any {
	switch t.Name {
	case "Addr":
		return fmt.Sprintf("192.0.2.%d", s.rand.IntN(256))
	case "Int":
		return fmt.Sprint(s.rand.Int64())
	case "Cents":
		return s.rand.Int64N(1000)
	case "Tags":
		return map[string]any{"z": "a,b", "n": 2}
	case "Time":
		return s.scalar(spec.Timestamp, spec.Rules{})
	}
	return "carrier" + s.string()
}

var awkward = []string{
	"", "a", "Ab c", "<b>&</b>", "\u2028\u2029", "\x1b\x00\b\t\n\f\r", "😀", "\uFB33", `"\/`, "é", "e\u0301", "\uFFFF", "1.0", "null", "\U0010FFFF", "'`",
	strings.Repeat("long ", 40),
}

func (s *Sampler) string() string {
	return awkward[s.rand.IntN(len(awkward))] + awkward[s.rand.IntN(len(awkward))]
}

func (s *Sampler) scalar(scalar spec.Scalar, rules spec.Rules) any {
	if rules.Min != nil && (rules.Max == nil || s.oneIn(2)) {
		return bounded(scalar, *rules.Min)
	}
	if rules.Max != nil {
		return bounded(scalar, *rules.Max)
	}
	r := s.rand
	switch scalar {
	case spec.Bool:
		return s.oneIn(2)
	case spec.Float:
		return []float64{0, 1, -1, 0.1, 1e21, 1e-7, 123456789.125, 5e-324, 1.7976931348623157e308, r.NormFloat64()}[r.IntN(10)]
	case spec.Int:
		return []int64{0, 1, -1, 1<<53 - 1, -(1<<53 - 1), r.Int64N(1000)}[r.IntN(6)]
	case spec.Int64:
		return fmt.Sprint([]int64{0, 1, -1, 1<<63 - 1, -1 << 63, r.Int64()}[r.IntN(6)])
	case spec.Decimal:
		return []string{"0", "1", "-1", "0.1", "-12.5", "1000", "0.0000000000000000000001", "123456789012345678901234567890.5"}[r.IntN(8)]
	case spec.Timestamp:
		t := time.Unix(r.Int64N(4e9), r.Int64N(1e9)).UTC()
		return t.Truncate([]time.Duration{1, time.Microsecond, time.Second}[r.IntN(3)]).Format(time.RFC3339Nano)
	case spec.Date:
		return time.Unix(r.Int64N(4e9), 0).UTC().Format(time.DateOnly)
	case spec.Duration:
		return time.Duration(r.Int64()).Truncate([]time.Duration{1, time.Second, time.Hour}[r.IntN(3)]).String()
	case spec.UUID:
		var u uuid.UUID
		for i := range u {
			u[i] = byte(r.Uint32())
		}
		return u.String()
	case spec.Bytes:
		b := make([]byte, sizeWithin(rules, r.IntN(5)))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return base64.StdEncoding.EncodeToString(b)
	case spec.JSON:
		return s.json(3)
	}
	return s.ruledString(rules)
}

func sizeWithin(rules spec.Rules, n int) int {
	if rules.MinLength != nil {
		n = max(n, *rules.MinLength)
	}
	if rules.MaxLength != nil {
		n = min(n, *rules.MaxLength)
	}
	return n
}

// ruledString finds a text that keeps the rules among a few that usually do.
func (s *Sampler) ruledString(rules spec.Rules) string {
	switch rules.Format {
	case "email":
		return "a@example.org"
	case "uri":
		return "https://example.org/a?b=%20"
	case "hostname":
		return "a.example.org"
	case "ipv4":
		return "192.0.2.1"
	case "ipv6":
		return "2001:db8::1"
	}
	if rules.MinLength == nil && rules.MaxLength == nil && rules.Pattern == "" {
		return s.string()
	}
	pattern := regexp.MustCompile(rules.Pattern)
	for n := range 300 {
		candidate := strings.Repeat(string([]rune{'a', 'b', 'é', '1', 'A'}[n%5]), sizeWithin(rules, n%60))
		if pattern.MatchString(candidate) {
			return candidate
		}
	}
	panic("no sample for pattern " + rules.Pattern)
}

// bounded is a bound in the language's spelling of values.
func bounded(scalar spec.Scalar, text string) any {
	switch scalar {
	case spec.Int, spec.Float:
		return json.Number(text)
	case spec.Timestamp:
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			panic(err)
		}
		return t.UTC().Format(time.RFC3339Nano)
	case spec.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			panic(err)
		}
		return d.String()
	case spec.Decimal:
		if strings.Contains(text, ".") {
			return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
	}
	return text
}

// json is a random value of any kind.
func (s *Sampler) json(depth int) any {
	kinds := 8
	if depth == 0 {
		kinds = 5
	}
	switch s.rand.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return s.oneIn(2)
	case 2:
		return s.scalar(spec.Float, spec.Rules{})
	case 3, 4:
		return s.string()
	case 5:
		list := []any{}
		for range s.rand.IntN(4) {
			list = append(list, s.json(depth-1))
		}
		return list
	}
	m := map[string]any{}
	for range s.rand.IntN(4) {
		m[s.string()] = s.json(depth - 1)
	}
	return m
}
