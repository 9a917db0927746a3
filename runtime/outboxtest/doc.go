// Package outboxtest helps to test programs that emit, dispatch and receive
// events.
//
//   - [Recorder] stands in for a store, or in front of one, and tells what a
//     transaction emitted; [Events] decodes it into the generated types.
//   - [Server] is a receiver on a real loopback socket that records what
//     arrives and fails as told: an answer, one held back, a connection cut before or
//     after processing, a body that trickles.
//   - [Calls] is the memory of a fake handler: what it was called with, and
//     which errors it answers with.
//   - [Clock] stands still until it is moved.
//
// Nothing here sleeps or guesses: waits end when what they wait for happens,
// or with their context.
//
// It does not stand in for a store's transactions: a Recorder without a store
// behind it does not see a rollback. Use the SQLite store in a temporary
// folder where that matters.
package outboxtest
