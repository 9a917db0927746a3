package emit

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/dave/jennifer/jen"
)

// commentWidth is where the lines of a comment are broken, in characters
// without the slashes.
const commentWidth = 77

// comment turns text into the lines of a // comment. Whatever the text, each
// line begins with "// ": what follows the slashes at once could be a directive
// to a tool, and a line break in the text would end the comment.
func comment(paragraphs ...string) []string {
	var lines []string
	for _, p := range paragraphs {
		text := cleanText(p)
		if text == "" {
			continue
		}
		if len(lines) > 0 {
			lines = append(lines, "//")
		}
		for line := range strings.SplitSeq(text, "\n") {
			for _, short := range wrap(line) {
				lines = append(lines, strings.TrimRight("// "+harmless(short), " "))
			}
		}
	}
	return lines
}

// harmless quotes the first word of a line that somebody could take for an
// order: gofmt takes "// +build" for a build constraint wherever it stands in a
// file, and staticcheck takes "// go:embed" for a directive that was spoilt.
func harmless(line string) string {
	bare := strings.TrimLeft(line, " ")
	if !strings.HasPrefix(bare, "+build") && !strings.HasPrefix(bare, "go:") {
		return line
	}
	word, rest, _ := strings.Cut(bare, " ")
	return strings.TrimRight(`"`+word+`" `+rest, " ")
}

// doc is comment as code.
func doc(paragraphs ...string) jen.Code {
	var code jen.Statement
	for i, line := range comment(paragraphs...) {
		if i > 0 {
			code.Line()
		}
		code.Comment(line)
	}
	return &code
}

// cleanText makes every line break a \n, drops blank lines at both ends, and
// spells out what cannot or should not stand in source code: control and format
// characters, among them those that turn the reading direction.
func cleanText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(s)
	var b strings.Builder
	for line := range strings.SplitSeq(s, "\n") {
		for _, r := range strings.TrimRightFunc(line, unicode.IsSpace) {
			switch {
			case r == '\t':
				b.WriteByte(' ')
			case unicode.IsPrint(r), unicode.IsSpace(r), r == '\u200C', r == '\u200D':
				b.WriteRune(r)
			case r > 0xFFFF:
				fmt.Fprintf(&b, `\U%08x`, r)
			default:
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		}
		b.WriteByte('\n')
	}
	return strings.Trim(b.String(), "\n")
}

// wrap breaks a line of prose at spaces. One that is indented or part of a
// list stays as it is.
func wrap(line string) []string {
	if len([]rune(line)) <= commentWidth || line != strings.TrimLeft(line, " -*+#0123456789") {
		return []string{line}
	}
	var lines []string
	current, width := "", 0
	for word := range strings.FieldsSeq(line) {
		n := len([]rune(word))
		// A word that would make the line a list's or a heading's stays up.
		if current != "" && width+1+n > commentWidth && strings.IndexAny(word, "-*+#0123456789") != 0 {
			lines = append(lines, current)
			current, width = "", 0
		}
		if current != "" {
			current += " "
			width++
		}
		current += word
		width += n
	}
	return append(lines, current)
}

// sentence ends a text with a full stop, unless it ends in one or is no prose.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	if last := s[len(s)-1]; last == '.' || last == '!' || last == '?' || last == ':' || strings.Contains(s, "\n") {
		return s
	}
	return s + "."
}
