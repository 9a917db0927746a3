// Package storetest is the contract of a store as tests. A store that passes
// [Run] is an outbox.Inserter, outbox.Store and outbox.Admin as the dispatcher
// and the tools need them; one that passes [RunInbox] is an inbox.Store. Nothing
// in it knows what a store is made of.
//
// The suite uses the store's own clock, which it sets, and never sleeps. Its two
// random parts, the model and the histories, are short by default and long when
// the environment has OUTBOXGEN_SOAK=1.
//
// What a suite of one process cannot show is left to the store's own tests:
// that what was committed survives a power cut, that a killed process loses
// nothing, and how errors of the medium look.
package storetest
