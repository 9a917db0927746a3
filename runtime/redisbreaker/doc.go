// Package redisbreaker is a circuit breaker whose state a fleet of processes
// shares through Redis: together they count failures, and together they send
// no more probes than one process would.
//
// # Model
//
// Each process keeps a breaker.Breaker of its own, and that one always
// decides: what it refuses is refused without a look at the network. What it
// admits is then asked of Redis, which keeps one hash a circuit and changes it
// by two scripts, one before and one after a call. A call runs when both say
// so. When Redis says that the circuit is open, the local breaker opens for
// the time that is left; when it says that the circuit has closed, the local
// breaker follows.
//
// The states, the trip edge, leases, generations and the growing recovery
// time are package breaker's, fleet-wide. Rates (breaker.Window) are not
// shared, and New refuses them.
//
// # Promises
//
//   - Only the server's clock is used for shared times, and only durations
//     come back: a process with a wrong clock does no harm.
//   - A process that is killed holds a probe until its lease ends, no longer.
//   - When Redis fails, or takes longer than the budget, the call is decided
//     by the local breaker alone; Redis is asked again after StorePause. The
//     log says store_unavailable and store_available once an episode.
//   - Every write sets an expiry that is longer than any recovery time and
//     lease, so that neither an open circuit is forgotten while it is waited
//     for, nor a key left behind for ever. A circuit without failures has no
//     key at all. One that nobody calls for that time is forgotten, and is
//     CLOSED; so are single failures that far apart.
//
// # Costs
//
// Admission costs one round trip, and so does the report of a call that
// failed or that ran while failures were counted; refusals cost none. A
// success with no failure known is not reported, so a failure that another
// process has while that call runs stands until the next success.
//
// # What it does not do
//
// ForceOpen, Disable and Reset of the local breaker (Local) act on this
// process alone; Disable does not silence what the fleet says.
package redisbreaker
