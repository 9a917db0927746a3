// Package importer writes a spec from contracts that exist already: JSON Schemas
// and AsyncAPI documents.
//
// It carries over the names on the wire, the types, what may be absent or null,
// enums, the constraints that the spec language has, and docs. Whatever it
// cannot carry over is in the report, with its place in the contract and what
// becomes of it: nothing is dropped in silence. What a contract does not say, how
// an event is known and where it goes, is left to the author of the spec.
//
// The package does no I/O: it reads the texts that it is given, follows
// references among them, and fetches nothing.
package importer
