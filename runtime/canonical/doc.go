// Package canonical writes and reads the one JSON text that an event has.
//
// # Model
//
// An event's bytes are made once, at insert, in the form of RFC 8785 (JSON
// Canonicalization Scheme). The hash that becomes the idempotency key, the
// stored payload, the signature and the body of every attempt are those
// bytes. So equal values must have equal text, whatever the order of members,
// the white space or the escapes they came with.
//
// There are three groups of functions:
//
//   - Append functions write one value to the end of a slice, as append does,
//     and allocate nothing beyond the slice's growth (AppendJSON: once, when
//     there is an object). Generated code, which knows every member and its
//     place, consists of calls to them. When one returns an error, the slice it
//     returns has its old length.
//   - [AppendJSON] and [Transform] canonicalise JSON text of unknown shape.
//   - [Object], [Array] and the Parse functions read. They are strict: one
//     value, nothing after it, valid UTF-8, no lone surrogates, no name twice
//     in an object (compared after unescaping), bounded nesting.
//
// [Key] makes the idempotency key.
//
// # Promises
//
// No function panics on any input. Whatever AppendJSON accepts, it accepts
// again unchanged: its output is a fixed point. Where it accepts, it agrees
// with every correct implementation of RFC 8785. It accepts less in one
// place: an integer literal whose value would change on the way through a
// double is refused, because two different numbers would otherwise become one
// text and one idempotency key.
//
// # What it does not do
//
// There is no reflection: this package does not encode Go structs. It does
// not normalise Unicode (RFC 8785, section 3.1), and it does not repair
// anything: what is not valid is an error that says where.
package canonical
