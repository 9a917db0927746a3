package canonical

import (
	"cmp"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Nesting is bounded, so that hostile text cannot exhaust the stack. What is
// read may be deeper than what AppendJSON takes, because a json member stands
// inside its event.
const (
	maxWriteDepth = 1000
	maxReadDepth  = 2000
)

// maxSize of a JSON text in bytes. The places of names are kept in 32 bits,
// and a number like 1e20 becomes five times as long.
const maxSize = 256 << 20

// Transform returns the RFC 8785 text of the JSON text raw; see [AppendJSON].
func Transform(raw []byte) ([]byte, error) {
	return AppendJSON(make([]byte, 0, len(raw)), raw)
}

// AppendJSON appends the RFC 8785 text of the JSON text raw. These are
// errors, each with its place: text that is not one JSON value, nesting
// deeper than 1000, a name twice in one object (compared after unescaping),
// invalid UTF-8, a lone surrogate, a number beyond the range of a double, and
// an integer literal whose value a double does not bring back. So 2^53 is
// taken, 2^53+1 is not, and 1e21, 1E30 and 0.1 are numbers like any other.
func AppendJSON(dst, raw []byte) ([]byte, error) {
	p := parser{raw: raw, emit: true, out: dst, base: len(dst), maxDepth: maxWriteDepth}
	err := p.size()
	if err == nil {
		err = p.value(0)
	}
	if err == nil {
		err = p.finish()
	}
	if err != nil {
		return dst, err
	}
	return p.out, nil
}

// parser walks JSON text once: it checks everything and, with emit, appends
// the canonical text to out.
type parser struct {
	raw      []byte
	pos      int
	emit     bool
	out      []byte
	base     int // of out: what was there before
	maxDepth int
	// members is a stack: the members of the objects that are open, those of
	// the innermost last.
	members []member
}

// member is a member of an open object: its name in the raw text, between the
// quotes, and its canonical text in out, counted from base.
type member struct {
	name      text
	from, end int32
}

// text is a part of the raw text between two quotes.
type text struct {
	from, end int32
	escaped   bool // it has a backslash
}

// size makes sure that offsets fit.
func (p *parser) size() error {
	if len(p.raw) > maxSize {
		return faultless("JSON text is longer than 256 MiB")
	}
	return nil
}

// finish makes sure that nothing but white space is left.
func (p *parser) finish() error {
	if p.space(); p.pos < len(p.raw) {
		return fault(p.pos, "unexpected text after the JSON value")
	}
	return nil
}

func (p *parser) space() {
	for p.pos < len(p.raw) {
		switch p.raw[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// take skips white space and then the byte c, if it is next.
func (p *parser) take(c byte) bool {
	if p.space(); p.pos < len(p.raw) && p.raw[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// unexpected is the fault of the byte at pos where want was expected.
func (p *parser) unexpected(want string) error {
	if p.pos >= len(p.raw) {
		return fault(p.pos, "JSON text ends where "+want+" is expected")
	}
	return fault(p.pos, "unexpected "+strconv.QuoteToASCII(string(p.raw[p.pos:p.pos+1]))+" where "+want+" is expected")
}

func (p *parser) write(c byte) {
	if p.emit {
		p.out = append(p.out, c)
	}
}

func (p *parser) value(depth int) error {
	p.space()
	if p.pos >= len(p.raw) {
		return p.unexpected("a value")
	}
	switch c := p.raw[p.pos]; {
	case c == '"':
		_, err := p.str()
		return err
	case c == '{':
		return p.object(depth+1, nil)
	case c == '[':
		return p.array(depth+1, nil)
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case c == 't':
		return p.literal("true")
	case c == 'f':
		return p.literal("false")
	case c == 'n':
		return p.literal("null")
	}
	return p.unexpected("a value")
}

func (p *parser) literal(word string) error {
	end := p.pos + len(word)
	if end > len(p.raw) || string(p.raw[p.pos:end]) != word {
		return p.unexpected("a value")
	}
	p.pos = end
	if p.emit {
		p.out = append(p.out, word...)
	}
	return nil
}

func (p *parser) enter(depth int) error {
	if depth > p.maxDepth {
		return fault(p.pos, "nested deeper than "+strconv.Itoa(p.maxDepth)+" levels")
	}
	return nil
}

// object reads an object; each, unless nil, is called for every member with
// its value's raw text.
func (p *parser) object(depth int, each func(name text, value []byte) error) error {
	if err := p.enter(depth); err != nil {
		return err
	}
	if p.members == nil {
		p.members = make([]member, 0, 24)
	}
	base := len(p.members)
	sorted := true
	p.pos++
	p.write('{')
	for first := true; !p.take('}'); first = false {
		if !first {
			if !p.take(',') {
				return p.unexpected("a comma or }")
			}
			p.write(',')
		}
		from := int32(len(p.out) - p.base)
		name, err := p.name()
		if err != nil {
			return err
		}
		if n := len(p.members); sorted && n > base {
			sorted = p.compare(p.members[n-1].name, name) < 0
		}
		p.write(':')
		p.space()
		at := p.pos
		if err := p.value(depth); err != nil {
			return Field(p.unescape(name), err)
		}
		if each != nil {
			if err := each(name, p.raw[at:p.pos:p.pos]); err != nil {
				return Field(p.unescape(name), err)
			}
		}
		p.members = append(p.members, member{name: name, from: from, end: int32(len(p.out) - p.base)})
	}
	p.write('}')
	if !sorted {
		if err := p.sort(p.members[base:]); err != nil {
			return err
		}
	}
	p.members = p.members[:base]
	return nil
}

// name reads a member's name and the colon after it.
func (p *parser) name() (text, error) {
	p.space()
	if p.pos >= len(p.raw) || p.raw[p.pos] != '"' {
		return text{}, p.unexpected("a member's name in quotes")
	}
	name, err := p.str()
	if err != nil {
		return text{}, err
	}
	if !p.take(':') {
		return text{}, p.unexpected("a colon")
	}
	return name, nil
}

// sort brings the members of the object that has just ended, which must not
// be empty, into order, in out too, and finds names that are there twice.
func (p *parser) sort(members []member) error {
	start := p.base + int(members[0].from)
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(p.compare(a.name, b.name), int(a.name.from-b.name.from))
	})
	for i := 1; i < len(members); i++ {
		if name := members[i].name; p.compare(members[i-1].name, name) == 0 {
			return fault(int(name.from)-1, "duplicate member name "+strconv.QuoteToASCII(clip(p.unescape(name))))
		}
	}
	if !p.emit {
		return nil
	}
	// The members in order are written behind the object and moved down:
	// they, their commas and the brace take as much room as before.
	end := len(p.out)
	for i, m := range members {
		if i > 0 {
			p.out = append(p.out, ',')
		}
		p.out = append(p.out, p.out[p.base+int(m.from):p.base+int(m.end)]...)
	}
	copy(p.out[start:], p.out[end:])
	p.out = p.out[:end]
	return nil
}

// clip shortens text that goes into an error.
func clip(s string) string {
	const longest = 64
	if len(s) > longest {
		return s[:longest] + "…"
	}
	return s
}

// compare orders two names of the raw text, after unescaping.
func (p *parser) compare(a, b text) int {
	x, y := p.raw[a.from:a.end], p.raw[b.from:b.end]
	if a.escaped || b.escaped {
		var room [2][64]byte
		x, y = p.appendUnescaped(room[0][:0], a), p.appendUnescaped(room[1][:0], b)
	}
	return compare(x, y)
}

// array reads an array; each, unless nil, is called for every element with
// its raw text.
func (p *parser) array(depth int, each func(i int, value []byte) error) error {
	if err := p.enter(depth); err != nil {
		return err
	}
	p.pos++
	p.write('[')
	for i := 0; !p.take(']'); i++ {
		if i > 0 {
			if !p.take(',') {
				return p.unexpected("a comma or ]")
			}
			p.write(',')
		}
		p.space()
		at := p.pos
		if err := p.value(depth); err != nil {
			return Index(i, err)
		}
		if each != nil {
			if err := each(i, p.raw[at:p.pos:p.pos]); err != nil {
				return Index(i, err)
			}
		}
	}
	p.write(']')
	return nil
}

// str reads a string; pos is at its first quote.
func (p *parser) str() (text, error) {
	t := text{from: int32(p.pos + 1)}
	done := p.pos // what is written so far
	for i := p.pos + 1; i < len(p.raw); {
		c := p.raw[i]
		switch {
		case plain(c):
			i++
		case c == '"':
			t.end = int32(i)
			p.pos = i + 1
			if p.emit {
				p.out = append(p.out, p.raw[done:p.pos]...)
			}
			return t, nil
		case c == '\\':
			r, size, err := p.escape(i)
			if err != nil {
				return t, err
			}
			t.escaped = true
			if p.emit {
				p.out = append(p.out, p.raw[done:i]...)
				p.out = appendRune(p.out, r)
			}
			i += size
			done = i
		case c < 0x20:
			return t, fault(i, "control character that is not escaped")
		default:
			r, size := utf8.DecodeRune(p.raw[i:])
			if r == utf8.RuneError && size == 1 {
				return t, fault(i, "invalid UTF-8")
			}
			i += size
		}
	}
	return t, fault(len(p.raw), "JSON text ends inside a string")
}

func appendRune(dst []byte, r rune) []byte {
	if r < 0x20 || r == '"' || r == '\\' {
		return appendEscape(dst, byte(r))
	}
	return utf8.AppendRune(dst, r)
}

// escape decodes the escape at i and returns how many bytes it takes.
func (p *parser) escape(i int) (r rune, size int, err error) {
	if i+1 >= len(p.raw) {
		return 0, 0, fault(len(p.raw), "JSON text ends inside a string")
	}
	switch c := p.raw[i+1]; c {
	case '"', '\\', '/':
		return rune(c), 2, nil
	case 'b':
		return '\b', 2, nil
	case 't':
		return '\t', 2, nil
	case 'n':
		return '\n', 2, nil
	case 'f':
		return '\f', 2, nil
	case 'r':
		return '\r', 2, nil
	case 'u':
	default:
		return 0, 0, fault(i, "unknown escape in a string")
	}
	r, ok := p.unit(i)
	if !ok {
		return 0, 0, fault(i, "\\u without four hex digits")
	}
	if !utf16.IsSurrogate(r) {
		return r, 6, nil
	}
	if low, ok := p.unit(i + 6); ok {
		if r := utf16.DecodeRune(r, low); r != utf8.RuneError {
			return r, 12, nil
		}
	}
	return 0, 0, fault(i, "lone surrogate")
}

// unit reads \uXXXX at i.
func (p *parser) unit(i int) (r rune, ok bool) {
	if i+6 > len(p.raw) || p.raw[i] != '\\' || p.raw[i+1] != 'u' {
		return 0, false
	}
	for _, c := range p.raw[i+2 : i+6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape returns the characters of a string that str has read.
func (p *parser) unescape(t text) string {
	if !t.escaped {
		return string(p.raw[t.from:t.end])
	}
	return string(p.appendUnescaped(nil, t))
}

func (p *parser) appendUnescaped(dst []byte, t text) []byte {
	for i := int(t.from); i < int(t.end); {
		if p.raw[i] != '\\' {
			dst = append(dst, p.raw[i])
			i++
			continue
		}
		r, size, err := p.escape(i)
		if err != nil {
			return dst // str has seen every escape of it
		}
		dst = utf8.AppendRune(dst, r)
		i += size
	}
	return dst
}

// number reads a number: RFC 8259, section 6.
func (p *parser) number() error {
	from := p.pos
	integer, ok := p.numeral()
	if !ok {
		return p.unexpected("a digit")
	}
	if !p.emit {
		return nil
	}
	lit := p.raw[from:p.pos]
	const exact = 15 // digits that every double brings back
	if integer && len(lit) <= exact {
		if string(lit) == "-0" {
			lit = lit[1:]
		}
		p.out = append(p.out, lit...)
		return nil
	}
	f, err := strconv.ParseFloat(string(lit), 64)
	if err != nil {
		return fault(from, "number "+clip(string(lit))+" is beyond the range of a double")
	}
	if integer {
		var buf [32]byte
		if back := strconv.AppendFloat(buf[:0], f, 'f', -1, 64); string(back) != string(lit) {
			return fault(from, "integer "+clip(string(lit))+" would become "+clip(string(back))+" in a double; write it as a string")
		}
	}
	p.out = appendNumber(p.out, f)
	return nil
}

// numeral walks over a number. On a fault, pos is at the byte that is wrong.
func (p *parser) numeral() (integer, ok bool) {
	if p.raw[p.pos] == '-' {
		p.pos++
	}
	if p.pos < len(p.raw) && p.raw[p.pos] == '0' {
		p.pos++
		if p.pos < len(p.raw) && '0' <= p.raw[p.pos] && p.raw[p.pos] <= '9' {
			p.pos--
			return false, false
		}
	} else if !p.digits() {
		return false, false
	}
	integer = true
	if p.pos < len(p.raw) && p.raw[p.pos] == '.' {
		integer = false
		p.pos++
		if !p.digits() {
			return false, false
		}
	}
	if p.pos < len(p.raw) && (p.raw[p.pos] == 'e' || p.raw[p.pos] == 'E') {
		integer = false
		p.pos++
		if p.pos < len(p.raw) && (p.raw[p.pos] == '+' || p.raw[p.pos] == '-') {
			p.pos++
		}
		if !p.digits() {
			return false, false
		}
	}
	return integer, true
}

// digits walks over digits; there must be one.
func (p *parser) digits() bool {
	from := p.pos
	for p.pos < len(p.raw) && '0' <= p.raw[p.pos] && p.raw[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > from
}
