// Package crashtest holds the crash matrix of the delivery engine: its tests
// run real processes on real database files and kill them with SIGKILL, at
// named points between insert, claim, send, answer and settle, and at random.
// It has no code of its own.
//
// The child process is the test binary itself, told by its environment what to
// do; the points are wrappers round the store and the handler, so the engine
// under test is the one that is shipped.
package crashtest
