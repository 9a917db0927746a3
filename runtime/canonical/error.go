package canonical

import (
	"strconv"
	"strings"
)

// Error says what is wrong with a value, and where it stands.
type Error struct {
	// Path leads to the value from the outermost one: items[2].sku. It is ""
	// for the outermost value itself.
	Path string
	// Offset is the byte, from 0, in the text or string that the failing
	// function was given; -1 when no single byte is at fault.
	Offset int
	// Msg is the fault in words.
	Msg string
	// Err is the cause, when the fault was found by other code; else nil.
	Err error
}

func (e *Error) Error() string {
	msg := e.Msg
	if msg == "" && e.Err != nil {
		msg = e.Err.Error()
	}
	if e.Offset >= 0 {
		msg += " at byte " + strconv.Itoa(e.Offset)
	}
	if e.Path != "" {
		msg = e.Path + ": " + msg
	}
	return msg
}

func (e *Error) Unwrap() error { return e.Err }

// Field returns err as the fault of the member of that name, or nil when err
// is nil.
func Field(name string, err error) error {
	if err == nil {
		return nil
	}
	return within(step(name), err)
}

// Index returns err as the fault of the element i, or nil when err is nil.
func Index(i int, err error) error {
	if err == nil {
		return nil
	}
	return within("["+strconv.Itoa(i)+"]", err)
}

// fault makes an error at a byte.
func fault(offset int, msg string) error { return &Error{Offset: offset, Msg: msg} }

// faultless makes an error that no single byte shows.
func faultless(msg string) error { return &Error{Offset: -1, Msg: msg} }

// maxPath bounds an error's path, which can be as deep as hostile input.
const maxPath = 256

// within puts one step in front of err's path.
func within(step string, err error) error {
	inner, ok := err.(*Error)
	if !ok {
		return &Error{Path: step, Offset: -1, Err: err}
	}
	outer := *inner
	switch {
	case inner.Path == "":
		outer.Path = step
	case len(step)+len(inner.Path) > maxPath:
		tail := inner.Path[max(0, len(inner.Path)-maxPath/2):]
		outer.Path = step + "…" + strings.ToValidUTF8(tail, "")
	case inner.Path[0] == '[':
		outer.Path = step + inner.Path
	default:
		outer.Path = step + "." + inner.Path
	}
	return &outer
}

// step is a member's name as a step of a path: bare when it reads as one
// word, else quoted, so that no name can pass for a path or break a log line.
func step(name string) string {
	const longest = 64
	if len(name) > longest {
		return "[" + strconv.Quote(name[:longest]) + "…]"
	}
	for i := range len(name) {
		c := name[i]
		if c != '_' && c != '-' && c != '$' && c != '@' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "[" + strconv.Quote(name) + "]"
		}
	}
	if name == "" {
		return `[""]`
	}
	return name
}
