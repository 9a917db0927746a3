// Package outbox delivers events that were written in the business's own
// transaction: the types of events and deliveries, the interfaces that a store
// implements, and the Dispatcher.
//
// # Model
//
// An event is an immutable row, inserted by InsertEvent (generated code calls
// it) in the transaction of the business rows. For each destination there is
// one delivery, which moves PENDING → PROCESSING → PUBLISHED or DEAD_LETTER.
// A Dispatcher claims deliveries under a lease, makes attempts through the
// destination's Sender, and settles what came of them.
//
// Inside a Dispatcher every destination is a lane: a bounded buffer of claimed
// deliveries and at most MaxInFlight workers. One claim loop serves all lanes
// in turn with one transaction; one settler records what has gathered in one
// transaction; one renewer keeps leases. Nothing else touches the store, and no
// transaction is open while an attempt runs.
//
// # Promises
//
//   - At least once: a committed event reaches PUBLISHED or DEAD_LETTER at each
//     of its destinations, or visibly waits. An attempt whose outcome was not
//     recorded is made again, so receivers and handlers must be idempotent.
//   - Ordered per key: an attempt starts only when no other delivery of its
//     destination and ordering key is in flight and no earlier one is open.
//   - Fenced: an outcome whose lease was lost changes nothing, and is counted.
//     An attempt starts only if its lease still covers its timeout; leases of
//     running attempts are renewed.
//   - Isolated: a slow, dead or hanging destination neither delays nor starves
//     another.
//   - Waiting is free: a circuit breaker that refuses, a pause, a disabled
//     destination, an unknown event type, a shutdown spend no attempt.
//   - No crash loop: a delivery whose lease expired in another process's hands
//     is a suspect; a dispatcher holds one suspect at a time, starts it at
//     once, and quarantines it when it has outlived CrashLimit processes.
//   - Graceful: Run returns when everything that it started has stopped.
//
// # What it does not do
//
// It does not deliver exactly once, stop a handler that ignores its context
// (it reports it, and keeps its lease and its place in flight), or order
// deliveries of different keys. It opens no database: package sqlite is a store.
package outbox
