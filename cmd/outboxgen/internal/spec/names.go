package spec

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file is the only one that makes Go names of wire names.
//
// A name depends on its own text and on nothing else, so that adding a member
// never renames another. Two names that meet, and a name that meets one which
// the generated package declares itself, are refused; go_name resolves it.

// initialisms are written in capitals, as Go programmers do. Adding one here
// renames what users' code refers to.
var initialisms = setOf("ACL", "AMQP", "API", "ASCII", "CPU", "CSS", "DB", "DNS", "EOF", "GUID", "HTML", "HTTP", "HTTPS",
	"ID", "IP", "JSON", "QPS", "RAM", "RPC", "SLA", "SMTP", "SQL", "SSH", "TCP", "TLS", "TTL", "UDP", "UI", "UID", "UUID",
	"URI", "URL", "UTF8", "VM", "XML", "XMPP", "XSRF", "XSS")

// packageNames are what every generated package declares or uses as an
// identifier of its own, beside what [Event] and [Destination] say of
// themselves. Tx is the type parameter of the generated functions.
var packageNames = []string{"New", "NewDispatcher", "DispatcherOption", "WithConfig", "Outbox", "Tx"}

// structMethods are the methods of every generated struct.
var structMethods = []string{"Validate", "AppendCanonical", "MarshalJSON", "UnmarshalJSON"}

// PackageNames are the exported identifiers that every generated package
// keeps for itself.
func PackageNames() []string { return append([]string(nil), packageNames...) }

// StructMethods are the method names that no field of a generated struct may
// have.
func StructMethods() []string { return append([]string(nil), structMethods...) }

// InsertName is the event's insert method: InsertOrderCreated.
func (e *Event) InsertName() string { return "Insert" + e.GoName }

// InsertBatchName is the event's batch insert: InsertOrderCreatedBatch.
func (e *Event) InsertBatchName() string { return "Insert" + e.GoName + "Batch" }

// OptionName is the dispatcher option of the destination: WithBilling.
func (d *Destination) OptionName() string { return "With" + d.GoName }

// HandlerName is the interface of typed handlers: AuditHandler.
func (d *Destination) HandlerName() string { return d.GoName + "Handler" }

// ReceiverName is the interface of the receiving side: BillingReceiver.
func (d *Destination) ReceiverName() string { return d.GoName + "Receiver" }

// NewReceiverName makes the receiving side's http.Handler: NewBillingReceiver.
func (d *Destination) NewReceiverName() string { return "New" + d.GoName + "Receiver" }

// MaxGoName bounds an identifier, in characters: what is longer needs a go_name.
const MaxGoName = 120

// GoName maps a wire name, whatever its text, to an exported Go identifier.
// Letters and digits stay; everything else ends a word; words are
// capitalised and initialisms are written in capitals. A plus sign is the word
// Plus, and a minus sign before a leading digit Minus, so that "+1" and "-1"
// stay apart. A leading digit gets an N, a leading letter without case an X.
// A name without letters and digits is spelled out.
func GoName(wire string) string {
	name := joinedWords(wire)
	switch first, _ := utf8.DecodeRuneInString(name); {
	case unicode.IsUpper(first):
		return name
	case unicode.IsDigit(first):
		return "N" + name
	}
	return "X" + name
}

// EnumValueName is what a value adds to its enum's name, which begins with a
// capital already.
func EnumValueName(value string) string { return joinedWords(value) }

// joinedWords are the letters and digits of a Go name, whatever it begins
// with. It is never empty.
func joinedWords(wire string) string {
	var b strings.Builder
	for _, w := range words(wire) {
		// 1.2 and 12 must not meet.
		if last, _ := utf8.DecodeLastRuneInString(b.String()); unicode.IsDigit(last) {
			if first, _ := utf8.DecodeRuneInString(w); unicode.IsDigit(first) {
				b.WriteByte('_')
			}
		}
		b.WriteString(capitalise(w))
	}
	if b.Len() == 0 {
		return spellOut(wire)
	}
	return b.String()
}

// words cuts a name at everything that is no letter or digit, before a
// capital that follows a small letter or a digit, and before the last capital of a
// run that goes on in small letters (HTTPServer: HTTP, Server).
func words(s string) []string {
	var out []string
	rs := []rune(s)
	start := -1
	cut := func(i int) {
		if start >= 0 {
			out = append(out, string(rs[start:i]))
		}
		start = -1
	}
	for i, r := range rs {
		switch {
		case r == '+':
			cut(i)
			out = append(out, "Plus")
			continue
		case r == '-' && i == 0 && len(rs) > 1 && unicode.IsDigit(rs[1]):
			out = append(out, "Minus")
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			cut(i)
			continue
		}
		if start >= 0 && unicode.IsUpper(r) {
			afterSmall := !unicode.IsUpper(rs[i-1])
			startsWord := i+1 < len(rs) && unicode.IsLower(rs[i+1]) && !pluralEnds(rs, i+1)
			if afterSmall || startsWord {
				cut(i)
			}
		}
		if start < 0 {
			start = i
		}
	}
	cut(len(rs))
	if len(out) > 0 && onlySigns(s) {
		return nil
	}
	return out
}

// onlySigns reports a name without a letter or digit: "+" is spelled out like
// "*", not taken for the word Plus.
func onlySigns(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0
}

// pluralEnds reports whether rs[i] is the s of a plural initialism (IDs), that
// is, an s at the end of a word.
func pluralEnds(rs []rune, i int) bool {
	return rs[i] == 's' && (i+1 == len(rs) || !unicode.IsLower(rs[i+1]) && !unicode.IsDigit(rs[i+1]))
}

// capitalise writes one word as part of a Go name. A shouted word of more than
// three letters is made quiet: PENDING is Pending, USD stays.
func capitalise(word string) string {
	upper := strings.ToUpper(word)
	if initialisms[upper] {
		return upper
	}
	if singular, ok := strings.CutSuffix(word, "s"); ok && initialisms[strings.ToUpper(singular)] && len(singular) > 1 {
		return strings.ToUpper(singular) + "s"
	}
	rs := []rune(word)
	if word == upper && len(rs) > 3 {
		rs = []rune(strings.ToLower(word))
	}
	rs[0] = unicode.ToUpper(rs[0])
	return string(rs)
}

var signNames = map[rune]string{
	' ': "Space", '!': "Bang", '"': "Quote", '#': "Hash", '$': "Dollar", '%': "Percent", '&': "Amp", '\'': "Apostrophe",
	'(': "OpenParen", ')': "CloseParen", '*': "Star", '+': "Plus", ',': "Comma", '-': "Minus", '.': "Dot", '/': "Slash",
	':': "Colon", ';': "Semicolon", '<': "Less", '=': "Equal", '>': "Greater", '?': "Question", '@': "At", '[': "OpenBracket",
	'\\': "Backslash", ']': "CloseBracket", '^': "Caret", '_': "Underscore", '`': "Backtick", '{': "OpenBrace", '|': "Pipe",
	'}': "CloseBrace", '~': "Tilde",
}

// spellOut names a text without letters and digits sign by sign.
func spellOut(s string) string {
	if s == "" {
		return "Empty"
	}
	var b strings.Builder
	for _, r := range s {
		if name, ok := signNames[r]; ok {
			b.WriteString(name)
		} else {
			fmt.Fprintf(&b, "U%04X", r)
		}
	}
	return b.String()
}

var exportedName = regexp.MustCompile(goNamePattern)

// checkGoName refuses what cannot be an exported Go identifier.
func checkGoName(name string) error {
	if !exportedName.MatchString(name) {
		return fmt.Errorf("%q is not an exported Go identifier", name)
	}
	return nil
}

// shorten cuts a text to so many characters.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	if rs := []rune(s); len(rs) > most {
		return string(rs[:most]) + "…"
	}
	return s
}

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}
