package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// node is a value of a document, with the order of its members and its place.
// A nil node is a value that is not there; its methods say so.
type node struct {
	file    string
	pointer string
	kind    kind
	members []member // of an object
	items   []*node  // of an array
	text    string   // of a string or number
	truth   bool
}

type member struct {
	name  string
	value *node
}

type kind int

const (
	object kind = iota + 1
	array
	text
	number
	boolean
	null
)

// get is the member of an object.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (n *node) is(k kind) bool { return n != nil && n.kind == k }

// string is the text of a string; "" of anything else.
func (n *node) string() string {
	if n.is(text) {
		return n.text
	}
	return ""
}

// each visits the value and all that is in it.
func (n *node) each(visit func(*node)) {
	visit(n)
	for _, m := range n.members {
		m.value.each(visit)
	}
	for _, item := range n.items {
		item.each(visit)
	}
}

// limits of what is read: contracts are written by hand, bombs are not.
const (
	maxDepth = 500
	maxNodes = 1_000_000
)

// parse reads a JSON or YAML document.
func parse(file string, data []byte) (*node, error) {
	p := parser{file: file}
	root, err := p.json(data)
	if err != nil {
		var notJSON *json.SyntaxError
		if !errors.As(err, &notJSON) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if root, err = p.yaml(data); err != nil {
			return nil, fmt.Errorf("%s: neither JSON nor YAML: %w", file, err)
		}
	}
	return root, nil
}

type parser struct {
	file  string
	count int
}

func (p *parser) node(k kind, pointer string, depth int) (*node, error) {
	if p.count++; p.count > maxNodes || depth > maxDepth {
		return nil, errors.New("the document is nested too deep or too large")
	}
	return &node{file: p.file, pointer: pointer, kind: k}, nil
}

func (p *parser) json(data []byte) (*node, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	root, err := p.jsonValue(d, "", 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	return root, nil
}

func (p *parser) jsonValue(d *json.Decoder, pointer string, depth int) (*node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	n, err := p.node(null, pointer, depth)
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case string:
		n.kind, n.text = text, token
	case json.Number:
		n.kind, n.text = number, token.String()
	case bool:
		n.kind, n.truth = boolean, token
	case json.Delim:
		n.kind = array
		if token == '{' {
			n.kind = object
		}
		for d.More() {
			step, name := strconv.Itoa(len(n.items)), ""
			if n.kind == object {
				key, err := d.Token()
				if err != nil {
					return nil, err
				}
				name = key.(string) // of an object: the decoder allows nothing else
				step = name
			}
			value, err := p.jsonValue(d, pointer+"/"+escape(step), depth+1)
			if err != nil {
				return nil, err
			}
			if n.kind == object {
				n.members = append(n.members, member{name, value})
			} else {
				n.items = append(n.items, value)
			}
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (p *parser) yaml(data []byte) (root *node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, errors.New("the document is empty")
	}
	p.count = 0
	return p.yamlValue(document.Content[0], "", 0)
}

func (p *parser) yamlValue(y *yaml.Node, pointer string, depth int) (*node, error) {
	if y.Kind == yaml.AliasNode {
		return p.yamlValue(y.Alias, pointer, depth+1)
	}
	n, err := p.node(null, pointer, depth)
	if err != nil {
		return nil, err
	}
	switch y.Kind {
	case yaml.MappingNode:
		n.kind = object
		return n, p.yamlMembers(n, y, depth)
	case yaml.SequenceNode:
		n.kind = array
		for i, c := range y.Content {
			item, err := p.yamlValue(c, pointer+"/"+strconv.Itoa(i), depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
	default:
		n.scalar(y)
	}
	return n, nil
}

// yamlMembers adds the members of a mapping; what a merge key brings in comes
// after, where the mapping has it not itself.
func (p *parser) yamlMembers(n *node, y *yaml.Node, depth int) error {
	if depth > maxDepth {
		return errors.New("the document is nested too deep")
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if n.get(key.Value) != nil {
			continue
		}
		v, err := p.yamlValue(value, n.pointer+"/"+escape(key.Value), depth+1)
		if err != nil {
			return err
		}
		n.members = append(n.members, member{key.Value, v})
	}
	for _, m := range merged {
		for m.Kind == yaml.AliasNode {
			m = m.Alias
		}
		sources := []*yaml.Node{m}
		if m.Kind == yaml.SequenceNode {
			sources = m.Content
		}
		for _, s := range sources {
			for s.Kind == yaml.AliasNode {
				s = s.Alias
			}
			if err := p.yamlMembers(n, s, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *node) scalar(y *yaml.Node) {
	switch y.ShortTag() {
	case "!!null":
		n.kind = null
	case "!!bool":
		n.kind, n.truth = boolean, strings.EqualFold(y.Value, "true")
	case "!!int", "!!float":
		n.kind, n.text = number, y.Value
	default:
		n.kind, n.text = text, y.Value
	}
}

// escape writes a name as a step of a JSON Pointer (RFC 6901, section 3).
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func unescape(step string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
}
