package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Loss is something of a contract that the spec does not say, or says
// otherwise.
type Loss struct {
	File    string
	Pointer string // RFC 6901, within the file
	Kind    Kind
	Message string // what it is, and what becomes of it
}

// String is "file#pointer: message [kind]".
func (l Loss) String() string {
	return fmt.Sprintf("%s#%s: %s [%s]", l.File, l.Pointer, l.Message, l.Kind)
}

// Kind says what kind of thing was lost.
type Kind string

// The kinds of loss, from the gravest on.
const (
	Skipped    Kind = "skipped"    // an event or message that is not in the spec
	Untyped    Kind = "untyped"    // a value that became json: any value passes
	Loosened   Kind = "loosened"   // a constraint that is not checked any more
	Narrowed   Kind = "narrowed"   // something that was allowed and is not any more, or is not kept
	Renamed    Kind = "renamed"    // a name that the spec language does not have
	Unattached Kind = "unattached" // what has no place in a spec: servers, headers, examples and the like
)

// Report is everything that could not be carried over, by place.
type Report []Loss

// Counts says how many there are of each kind.
func (r Report) Counts() map[Kind]int {
	counts := map[Kind]int{}
	for _, l := range r {
		counts[l.Kind]++
	}
	return counts
}

// String has a line for each loss and one with their counts.
func (r Report) String() string {
	if len(r) == 0 {
		return "everything was carried over\n"
	}
	var b strings.Builder
	for _, l := range r {
		fmt.Fprintln(&b, l)
	}
	counts := r.Counts()
	var parts []string
	for _, k := range []Kind{Skipped, Untyped, Loosened, Narrowed, Renamed, Unattached} {
		if counts[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[k], k))
		}
	}
	fmt.Fprintf(&b, "not carried over: %s\n", strings.Join(parts, ", "))
	return b.String()
}

// tidied is the report by place, with what was met twice told once.
func (r Report) tidied() Report {
	slices.SortStableFunc(r, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(r)
}
