// Package spec reads an event spec and checks it.
//
// [Load] takes the text of a spec and of what it includes, and gives either a
// [Spec], in which every name is resolved and every default applied, or every
// fault that it found, each with its place, the name of its rule and, where one
// helps, a hint. It does no I/O of its own and never panics, whatever the text.
//
// The language is one table of keys (keys.go): the reader, the suggestions for
// unknown keys and the JSON Schema for editors are made of it.
//
// The package also owns names: how a wire name becomes a Go name, and which
// names a generated package declares itself (names.go).
package spec
