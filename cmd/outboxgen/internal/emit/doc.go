// Package emit turns a checked spec into the files of the generated package.
//
// It is pure: the same spec gives the same bytes, whatever the machine, the
// folder or the order of maps. It reads and writes nothing and finds no faults:
// a spec that spec.Load accepts can be emitted, and what comes out compiles.
//
// Go is built with jennifer, so that imports and formatting look after
// themselves, one file of this package per kind of output. Text from a spec
// reaches the output in two ways only: as a literal (see literal.go) or as a
// line of a comment (see comment.go).
package emit
