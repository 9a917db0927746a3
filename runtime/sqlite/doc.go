// Package sqlite is the embedded store: events, their deliveries and the inbox
// in the tables of package schema, beside the user's own, in one SQLite
// database in WAL mode.
//
// # One writer
//
// All of a process's writes go through one connection that [Store.InTx] and
// [Store.Begin] hand out in the order in which they were asked; every
// transaction takes SQLite's write lock when it begins, so that none fails half
// way because another was faster. Reads have a pool ([Store.Readers]). Several
// processes may share a file: they meet at SQLite's lock.
//
// # What is on disk, and when
//
// Business commits run with synchronous=NORMAL and sync nothing. After a claim
// has committed and before it is returned, [Store.Claim] syncs the -wal file,
// with no lock held: that one sync covers every earlier commit of every
// process, so no event leaves before the power can be cut without losing it. A
// sync that fails returns no delivery, and no later claim does either until a
// complete, synced checkpoint has moved everything into the database file: the
// kernel may have marked the unwritten pages clean, so a second sync would
// succeed and prove nothing.
//
// Another process that opens the file with synchronous=OFF voids this; it
// cannot be seen from here. A transaction of another pool in this process that
// does so is refused by [Store.Insert].
//
// # The WAL
//
// Checkpoints run in the background, never in a commit. The -wal file is cut
// back when it has grown beyond 64 MiB. SQLite cannot reset it while any
// process reads an old snapshot: the file then grows by what is written in the
// meantime, the store says so in its log, and cuts it back when the reader has
// gone. Keep reads short.
//
// # Clock
//
// Times are microseconds UTC by one clock per store, [Options.Now]. A clock
// that steps back delays what is due by at most the step; one that steps
// forward ends leases early: their holders' settles still count until somebody
// else has claimed the delivery, and are refused after that.
//
// # What it does not do
//
// In-memory databases are refused: nothing in them could survive. So are
// databases newer than this package. It does not watch over files on a network:
// SQLite's locks do not hold there.
package sqlite
