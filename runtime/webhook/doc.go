// Package webhook sends deliveries over HTTP.
//
// # Model
//
// [New] makes an [outbox.Destination] of a [Config]; generated code fills the
// Config from the spec, and an option of the program overrides single fields
// ([Config.Or]). An attempt is one POST of the event's stored bytes, signed as
// Standard Webhooks describes (package signature), with the event's identity
// in headers ([Headers]). What the answer means is a table ([Answers]), the
// same for every endpoint unless Config.Classify says otherwise.
//
// # Promises
//
//   - The body is the bytes that were made at insert, at every attempt and
//     after every replay.
//   - Redirects are never followed: the default http.Client would turn the
//     POST into an empty GET whose 200 reads as delivered.
//   - No address that is link-local or serves cloud metadata is ever connected
//     to. That is checked when a connection is made, on the resolved address,
//     so a name that changes its address gains nothing.
//   - Whatever the endpoint does, an attempt ends with its deadline, reads at
//     most 64 KiB of headers and 64 KiB of a body, and keeps at most 2 KiB of
//     text of it.
//   - URL credentials, query values, secrets and the values of variables in
//     headers reach no error and no failure message, even when the endpoint
//     sends them back.
//   - Faults of this side (an address that is not allowed, a signature that
//     cannot be made, no file descriptor left) spend no attempt and say nothing
//     to the breaker.
//
// # What it does not do
//
// It sends at least once: an attempt whose answer was lost is made again, and
// net/http itself repeats a request whose reused connection dies before a byte
// of the answer. Receivers deduplicate by webhook-id. Proxies are used only
// when the Config names one, and what a proxy connects to cannot be checked
// here. Answers are never decompressed.
package webhook
