// Package compat compares two versions of a spec and tells which changes can
// break what exists already: an event that is stored and not yet delivered, a
// receiver that still runs the old contract, or Go code that uses the generated
// package.
//
// Old and new always meet: events that were inserted before a deploy are
// delivered after it, and receivers are deployed when their owners please. So a
// change is safe only if the new code reads old events and the old code reads new
// ones. What cannot be done so is done in a new version of the event, beside the
// old one.
//
// The package knows what a spec says and nothing of what users' code makes of
// it.
package compat
