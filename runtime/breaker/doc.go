// Package breaker is a circuit breaker: it stops calls to an endpoint that
// fails, and finds out with few calls when it works again. It uses the
// standard library only.
//
// # States
//
//   - CLOSED: calls run. FailureThreshold failures in a row, or a rate of
//     failures or slow calls in a Window, open the breaker.
//   - OPEN: calls are refused for the recovery time. Nothing extends it.
//   - HALF_OPEN: probes run. HalfOpenMaxCalls successes close the breaker,
//     one failure opens it again, and for longer: the recovery time doubles
//     with each failed recovery up to MaxRecoveryTime. It falls back by one
//     doubling for every such time spent CLOSED.
//
// No more probes run at once than are still needed to close, so a recovery
// costs the endpoint at most HalfOpenMaxCalls calls.
//
// # The trip edge
//
// With no failure counted, CLOSED neither limits calls nor takes a lock. With
// some, at most FailureThreshold − failures run at once: as many as could
// open the breaker. Others wait for their verdict (Do, Acquire, Transport) or
// are refused with ReasonSuspect (TryAcquire, for worker pools that have
// other work). So 50 callers at one failure from the edge cost the endpoint
// one call, not 50. Calls that were under way when the first failure arrived
// are not called back and can overshoot.
//
// A Window's rates have no such edge: in a window of failures now and then,
// which is what rates are for, it would throttle a healthy endpoint. Set
// FailureThreshold beside the Window to have both.
//
// # Promises
//
//   - A result counts only in the generation, the time between two
//     transitions, that admitted its call. A late one changes nothing and
//     frees nothing.
//   - Slots of probes, and of calls at the trip edge, are leases: a call that
//     hangs or is never reported loses its slot when Lease is over. A probe's
//     answer after that is not counted; in CLOSED it is, without a slot.
//   - Panics and runtime.Goexit in a call count as failures and are not
//     disturbed. Our own cancellation is neutral; a deadline is a failure.
//   - OnTransition and the Logger run outside the lock, in the order of
//     events, one at a time. They may be slow, panic, and call the breaker.
//   - A closed breaker costs an atomic load and an atomic addition; neither
//     admission nor refusal allocates.
//   - Times are measured by the monotonic clock: setting the wall clock
//     changes nothing. On Linux that clock stands still while the machine is
//     suspended, and so does the recovery time.
//
// # What it does not do
//
// It does not limit rates or concurrency in CLOSED, retry, or set timeouts:
// give each call a deadline shorter than Lease. It shares no state between
// processes: package redisbreaker does.
//
// # Events
//
// With a Logger, each transition is a record with the attributes
// circuit_name, state, event, latency_ms, consecutive_failures,
// half_open_successes, backoff_seconds, remaining_seconds, error_type,
// generation and reason. event is call_succeeded, call_failed, call_ignored,
// call_stale, call_rejected_circuit_open or state_transition_<from>_to_<to>,
// as in state_transition_closed_to_open; an operation that leaves the state
// as it was has its own name: reset, forced, disabled. Refusals are reported
// at once when they begin, then once a second with rejected_calls, the number
// since the last report; the other calls with Detail EveryCall. error_type is
// a type or a class, never an error's text, so that no secret of a URL reaches
// a log.
package breaker
