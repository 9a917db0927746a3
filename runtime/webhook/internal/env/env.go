// Package env puts the values of variables into text from a spec or a config.
//
// A variable stands as ${NAME}, with a name of letters, digits and
// underscores. Everything else, a lone dollar sign too, stands for itself.
// Values are not expanded again.
package env

import (
	"errors"
	"slices"
	"strings"
)

// Lookup finds a variable's value, as os.LookupEnv does.
type Lookup func(name string) (value string, ok bool)

// ErrSyntax: a "${" is not followed by a name and "}".
var ErrSyntax = errors.New("${ is not followed by a variable's name and }")

// Expand returns s with its variables' values, and the names of those that
// are not set, each once, in order. With any of them, or an error, the text
// is "".
func Expand(s string, lookup Lookup) (text string, unset []string, err error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "${")
		b.WriteString(before)
		if !found {
			break
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed || !isName(name) {
			return "", unset, ErrSyntax
		}
		value, ok := lookup(name)
		if !ok && !slices.Contains(unset, name) {
			unset = append(unset, name)
		}
		b.WriteString(value)
		s = rest
	}
	if len(unset) > 0 {
		return "", unset, nil
	}
	return b.String(), nil, nil
}

// IsVariable reports whether s is one variable and nothing else: "${NAME}".
func IsVariable(s string) bool {
	name, found := strings.CutPrefix(s, "${")
	name, closed := strings.CutSuffix(name, "}")
	return found && closed && isName(name)
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
