package env

import (
	"errors"
	"slices"
	"testing"
)

func TestExpand(t *testing.T) {
	vars := map[string]string{"HOST": "example.org", "_a1": "x", "EMPTY": "", "NEST": "${HOST}"}
	lookup := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	for _, c := range []struct {
		in, want string
		unset    []string
		err      error
	}{
		{in: "", want: ""},
		{in: "plain $ text $HOST }", want: "plain $ text $HOST }"},
		{in: "https://${HOST}/${_a1}?q=${HOST}", want: "https://example.org/x?q=example.org"},
		{in: "[${EMPTY}]", want: "[]"},
		{in: "${NEST}", want: "${HOST}"},
		{in: "${B}${A}${HOST}${B}", unset: []string{"B", "A"}},
		{in: "${", err: ErrSyntax},
		{in: "${HOST", err: ErrSyntax},
		{in: "${}", err: ErrSyntax},
		{in: "${1A}", err: ErrSyntax},
		{in: "${HOST:-x}", err: ErrSyntax},
	} {
		got, unset, err := Expand(c.in, lookup)
		if got != c.want || !slices.Equal(unset, c.unset) || !errors.Is(err, c.err) {
			t.Errorf("Expand(%q) = %q, %q, %v; want %q, %q, %v", c.in, got, unset, err, c.want, c.unset, c.err)
		}
	}
}
