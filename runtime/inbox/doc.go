// Package inbox is the receiving side: an http.Handler that applies each
// event of an outbox once.
//
// # Model
//
// A [Receiver] belongs to one consumer. It checks a request (method, content
// type, size, signature, identity), and then, in one transaction of a
// [Store], writes the inbox row of (consumer, idempotency key) and calls the
// typed handler of the event's type and version. Commit makes both true;
// anything else leaves neither.
//
// # Promises
//
//   - Applied once: of all requests with one idempotency key, whichever way
//     they arrive (again, at once, after a crash, through another process on the same
//     store), one runs a handler that commits. The others answer 200 without an
//     effect, 409 while the first is under way in this process, or 422 when
//     their body is another one.
//   - No false success: 2xx is written only after the commit, or when the row of
//     an earlier commit was found (or, by [UnknownAcknowledge], when the
//     receiver was told not to care for the type).
//   - Nobody's word but the sender's: the signature is checked before the body is looked at, and the
//     idempotency key is computed again from source, type, id and body, so that
//     a captured request cannot be passed off as another event.
//   - A handler that fails or panics is rolled back, and its error is logged, not sent.
//
// # What it does not do
//
// It starts no goroutine. Rows older than [Config.Retention] go when the
// program calls [Receiver.Run] or [Receiver.Purge]; without either the table
// grows. An event that comes again after its row is gone is applied again:
// that is the window, and NewReceiver refuses one shorter than the sender's
// horizon where that is known ([Config.SenderHorizon]).
//
// It bounds the time a body may take ([Config.ReadTimeout]), not that of the
// request's head: set http.Server's ReadHeaderTimeout and IdleTimeout. Neither
// does it bound the number of connections. It has no authentication for AllowUnsigned
// requests: whoever can reach such a receiver can make it apply events.
//
// It does not end with its requests: a handler under way runs on when the
// sender hangs up, and http.Server.Shutdown waits for it.
//
// It cannot undo what a handler does outside the transaction (an e-mail, a
// call to another service): such an effect happens at least once.
package inbox
