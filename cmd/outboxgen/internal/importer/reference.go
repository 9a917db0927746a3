package importer

import (
	"net/url"
	"path"
	"strconv"
	"strings"
)

// documents are the files of one import, by name and by $id.
type documents map[string]*node

func (d documents) add(file string, root *node) {
	d[path.Clean(file)] = root
	for _, key := range []string{"$id", "id"} {
		if id := root.get(key).string(); id != "" {
			d[strings.TrimSuffix(id, "#")] = root
		}
	}
}

// target follows a $ref, as far as it goes. name is the last step of the last
// reference, which is what its author calls the thing; ok is false when there
// is no such place, or none but in a circle.
func (d documents) target(n *node) (target *node, name string, ok bool) {
	const maxHops = 100
	for range maxHops {
		ref := n.get("$ref")
		if !ref.is(text) {
			return n, name, true
		}
		next := d.find(n, ref.text)
		if next == nil {
			return n, name, false
		}
		if step := next.pointer[strings.LastIndexByte(next.pointer, '/')+1:]; step != "" {
			name = unescape(step)
		} else {
			name = baseName(next.file)
		}
		n = next
	}
	return n, name, false
}

// find gives the place that a reference in from means: a pointer into the same
// file, or into another one that was given.
func (d documents) find(from *node, ref string) *node {
	if ref == "" {
		return nil
	}
	file, fragment, _ := strings.Cut(ref, "#")
	root := d[path.Clean(from.file)]
	if file != "" {
		if root = d[path.Join(path.Dir(from.file), file)]; root == nil {
			root = d[file]
		}
		if root == nil {
			// An $id is often an absolute form of the reference.
			root = d[path.Base(file)]
		}
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	if fragment == "" {
		return root
	}
	if !strings.HasPrefix(fragment, "/") {
		return nil // an anchor
	}
	at := root
	for step := range strings.SplitSeq(fragment[1:], "/") {
		switch {
		case at.is(object):
			at = at.get(unescape(step))
		case at.is(array):
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at.items) {
				return nil
			}
			at = at.items[i]
		default:
			return nil
		}
	}
	return at
}

// baseName is a file's name without folder and without the ends that say what
// it is.
func baseName(file string) string {
	name := path.Base(file)
	for _, end := range []string{".json", ".yaml", ".yml", ".schema", ".asyncapi"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}
