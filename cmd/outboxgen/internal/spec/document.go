package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxFileSize bounds one spec file, in bytes.
const maxFileSize = 16 << 20

// node is a YAML node that knows its file.
type node struct {
	*yaml.Node
	file string
}

func (n node) pos() Pos { return Pos{n.file, n.Line, n.Column} }

func (n node) child(i int) node { return node{n.Content[i], n.file} }

// isNull reports a value that is absent or written ~ or null without quotes.
func (n node) isNull() bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// parse reads the one document of a file. What YAML itself allows and the
// language does not is reported here, over the whole document; the reader can
// then pass it by in silence.
func (r *reader) parse(file string, text []byte) (node, bool) {
	start := Pos{file, 1, 1}
	if len(text) > maxFileSize {
		r.errorf(start, ruleTooLarge, "divide it with include", "the file has %d bytes, more than %d", len(text), maxFileSize)
		return node{}, false
	}
	if !r.encoding(file, text) {
		return node{}, false
	}
	var first, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decodeNode(decoder, &first); {
	case errors.Is(err, io.EOF):
		r.errorf(start, ruleWrongShape, "begin with version: 1", "the file is empty")
		return node{}, false
	case err != nil:
		r.syntaxError(file, text, err)
		return node{}, false
	}
	root := node{first.Content[0], file}
	r.lint(root)
	switch err := decodeNode(decoder, &second); {
	case err == nil:
		r.errorf(Pos{file, second.Line, second.Column}, ruleSecondDocument, "put it into a file of its own and include it", "a second document begins here; a spec is one")
	case !errors.Is(err, io.EOF):
		r.syntaxError(file, text, err)
	}
	return root, true
}

// encoding refuses what is no UTF-8 text, where it stands: yaml.v3 takes
// UTF-16 too, and names no place.
func (r *reader) encoding(file string, text []byte) bool {
	pos := Pos{file, 1, 1}
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		switch {
		case c == utf8.RuneError && size == 1:
			r.errorf(pos, ruleSyntax, "save the file as UTF-8", "not UTF-8: byte 0x%02x", text[0])
			return false
		case c == '\n':
			pos.Line, pos.Col = pos.Line+1, 0
		case c < ' ' && c != '\t' && c != '\r', c >= 0x7f && c < 0xa0 && c != 0x85, c == 0xfffe || c == 0xffff:
			r.errorf(pos, ruleSyntax, fmt.Sprintf(`write it as an escape in double quotes, as in "\u%04x"`, c), "control character U+%04X", c)
			return false
		}
		pos.Col++
		text = text[size:]
	}
	return true
}

// decodeNode is d.Decode that never panics.
func decodeNode(d *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	return d.Decode(n)
}

var (
	yamlLine     = regexp.MustCompile(`^line (\d+): `)
	unknownAlias = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// find gives the first place of a text in a file.
func find(file string, text []byte, s string) Pos {
	before, _, _ := bytes.Cut(text, []byte(s))
	line := bytes.LastIndexByte(before, '\n') + 1
	return Pos{file, bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[line:]) + 1}
}

// syntaxError gives an error of yaml.v3 the form of ours. It names a line at
// most, and none for line 1; errors of its parser ("did not find expected …",
// "mapping keys …") count lines from 0.
func (r *reader) syntaxError(file string, text []byte, err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	pos := Pos{file, 1, 1}
	fromParser := strings.Contains(message, "did not find expected")
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		if n, err := strconv.Atoi(m[1]); err == nil {
			pos.Line = n
			if fromParser {
				pos.Line++
			}
		}
	}
	if m := unknownAlias.FindStringSubmatch(message); m != nil {
		r.errorf(find(file, text, "*"+m[1]), ruleAlias, "quote a text that begins with *", "alias *%s: a spec has no aliases", m[1])
		return
	}
	pos.Line = min(pos.Line, bytes.Count(bytes.TrimRight(text, "\n"), []byte("\n"))+1)
	r.errorf(pos, ruleSyntax, syntaxHint(message, text, pos.Line), "not YAML: %s", message)
}

var (
	flowMarks = regexp.MustCompile(`[\[{,:]\s*[^\s'",\[\]{}]*(\$\{|\?\s*[,}\]])|\]\s*\?`)
	tabIndent = regexp.MustCompile(`^ *\t`)
	surrogate = regexp.MustCompile(`\\u[dD][89a-fA-F]`)
)

// syntaxHint guesses what the author meant from the line of the error. yaml.v3
// may name the line on which the enclosing block begins, so that a flow
// collection is looked for from there on to the next lines.
func syntaxHint(message string, text []byte, line int) string {
	lines := strings.Split(string(text), "\n")
	at := func(i int) string {
		if i >= 1 && i <= len(lines) {
			return lines[i-1]
		}
		return ""
	}
	switch {
	case tabIndent.MatchString(at(line)) || tabIndent.MatchString(at(line+1)):
		return "indent with spaces, not with tabs"
	case strings.Contains(message, "escape code") && surrogate.MatchString(at(line)):
		return `write the character itself or \U0001F600`
	}
	for i := line; i <= line+2; i++ {
		if m := flowMarks.FindString(at(i)); m != "" {
			return "inside [ ] and { } quote ${VAR} and T?, as in [\"string?\"]; an optional list is {type: [T], optional: true}"
		}
	}
	if strings.Contains(message, "cannot start any token") {
		return "quote a value that begins with a sign"
	}
	if strings.Contains(message, "mapping values are not allowed") {
		return "quote a value that has a colon in it, and check the indent"
	}
	return ""
}

// lint reports what YAML has and the language does not: anchors, aliases,
// merge keys, tags, keys that are no text, and duplicate keys.
func (r *reader) lint(n node) {
	if n.Anchor != "" {
		r.errorf(n.pos(), ruleAlias, "write the value where it is used, or name it under types", "anchor &%s: a spec has no anchors", n.Anchor)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		r.errorf(n.pos(), ruleTag, "leave it out; quotes make a value a text", "tag %q: a spec has no tags", n.Tag)
	}
	switch n.Kind {
	case yaml.AliasNode:
		r.errorf(n.pos(), ruleAlias, "write the value where it is used, or name it under types", "alias *%s: a spec has no aliases", n.Value)
	case yaml.SequenceNode:
		for i := range n.Content {
			r.lint(n.child(i))
		}
	case yaml.MappingNode:
		seen := make(map[string]Pos, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.child(i), n.child(i+1)
			r.lintKey(key, seen)
			r.lint(value)
		}
	}
}

func (r *reader) lintKey(key node, seen map[string]Pos) {
	switch {
	case key.Kind == yaml.AliasNode || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0:
		r.lint(key)
	case key.Kind != yaml.ScalarNode:
		r.errorf(key.pos(), ruleKeyNotText, "", "a key must be a text, this one is a %s", kindName(key))
	case isMergeKey(key):
		r.errorf(key.pos(), ruleMergeKey, "write the keys where they are used", "merge key <<: a spec has no merge keys")
	default:
		if first, ok := seen[key.Value]; ok {
			r.errorf(key.pos(), ruleDuplicateKey, "", "key %q stands twice; the first is in line %d", key.Value, first.Line)
			return
		}
		seen[key.Value] = key.pos()
	}
}

func isMergeKey(n node) bool { return n.Tag == "!!merge" }

func kindName(n node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	}
	return "text"
}

// isText reports a scalar with this text.
func (n node) isText(s string) bool { return n.Kind == yaml.ScalarNode && n.Value == s }
