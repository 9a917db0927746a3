package emit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any // object, []any, string, bool, json.Number or nil
}

// with adds a member.
func (o object) with(name string, value any) object { return append(o, member{name, value}) }

// withText adds a member unless its text is empty.
func (o object) withText(name, text string) object {
	if text == "" {
		return o
	}
	return o.with(name, text)
}

func number(n int) json.Number { return json.Number(fmt.Sprint(n)) }

// encodeJSON writes a tree, indented by two spaces.
func encodeJSON(tree any) ([]byte, error) {
	var compact bytes.Buffer
	if err := appendJSON(&compact, tree); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func appendJSON(out *bytes.Buffer, tree any) error {
	switch v := tree.(type) {
	case object:
		out.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := appendJSON(out, m.name); err != nil {
				return err
			}
			out.WriteByte(':')
			if err := appendJSON(out, m.value); err != nil {
				return err
			}
		}
		out.WriteByte('}')
		return nil
	case []any:
		out.WriteByte('[')
		for i, element := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := appendJSON(out, element); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(tree)
}

// parseJSON reads a JSON text as a tree, with the order of its members and the
// digits of its numbers.
func parseJSON(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	tree, err := parseValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value in %q", text)
	}
	return tree, nil
}

func parseValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		o := object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			o = o.with(name.(string), value)
		}
		_, err := d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := d.Token()
		return list, err
	}
	return t, nil
}

// encodeYAML writes a tree as YAML.
func encodeYAML(tree any) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(yamlNode(tree)); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func yamlNode(tree any) *yaml.Node {
	scalar := func(tag, value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value} }
	switch v := tree.(type) {
	case object:
		n := &yaml.Node{Kind: yaml.MappingNode}
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		for _, m := range v {
			key := scalar("!!str", m.name)
			if !isProse(m.name) || strings.Contains(m.name, "\n") {
				key.Style = yaml.DoubleQuotedStyle
			}
			n.Content = append(n.Content, key, yamlNode(m.value))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		for _, element := range v {
			n.Content = append(n.Content, yamlNode(element))
		}
		return n
	case string:
		n := scalar("!!str", v)
		if !isProse(v) {
			n.Style = yaml.DoubleQuotedStyle
		}
		return n
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return scalar("!!float", v.String())
		}
		return scalar("!!int", v.String())
	case bool:
		return scalar("!!bool", fmt.Sprint(v))
	}
	return scalar("!!null", "null")
}

// isProse reports a text that needs no quotes or that yaml.v3 quotes by itself.
// Where it has several lines a block is written, which loses line breaks at
// its ends; and << as a key would be a merge.
func isProse(s string) bool {
	return s != "<<" && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
}
