package spec

import (
	"fmt"
	"strings"
)

// nameFiles gives every event the name of its own files. Where file names know
// no case, two of them must not be one.
func (l *loader) nameFiles() {
	held := map[string]*Event{}
	for _, e := range l.spec.Events {
		e.FileName = fileName(e)
		folded := strings.ToLower(e.FileName)
		if other, taken := held[folded]; taken && l.spec.Outputs.JSONSchema != "" {
			l.errorf(e.Pos, ruleFileCollision, "", "event %q and event %q at %s need files whose names differ in case only", e.Key(), other.Key(), other.Pos)
			continue
		}
		held[folded] = e
	}
}

// fileName keeps letters, digits and _ . - of the wire name and writes every
// other sign as its hexadecimal number, so that different names stay
// different; an older version ends in @N.
func fileName(e *Event) string {
	var b strings.Builder
	for _, r := range e.Name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.', r == '-':
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "~%02x", r)
		}
	}
	if !e.Current {
		fmt.Fprintf(&b, "@%d", e.Version)
	}
	name := b.String()
	// A leading dot hides a file, and Windows keeps some names for devices.
	stem, _, _ := strings.Cut(strings.ToLower(name), ".")
	if strings.HasPrefix(name, ".") || deviceNames[stem] {
		name = "~" + name
	}
	return name
}

var deviceNames = setOf("con", "prn", "aux", "nul",
	"com0", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt0", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9")
