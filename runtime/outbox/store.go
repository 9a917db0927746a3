package outbox

import (
	"context"
	"time"
)

// Store is what a dispatcher needs of a store. It keeps one clock: it takes
// durations, never a caller's absolute time. storetest.Run is its contract.
type Store interface {
	// Claim leases due deliveries for the wanted destinations in one
	// transaction. When it returns, every event in the answer is on disk and
	// stays there through a power cut: only then may a byte of it be sent.
	// Paused and disabled destinations yield nothing.
	Claim(ctx context.Context, req ClaimRequest) (Claim, error)
	// Settle records outcomes in one transaction. Lost[i] is set where the
	// lease was no longer held: that settlement changed nothing. When a
	// delivery stays in its key's line (a retry, a give-back, a dead letter
	// that holds), the rest of its run is given back in the same transaction; a
	// GiveBack of the same call for one of those is not lost. Settle does not
	// stop when ctx is cancelled.
	Settle(ctx context.Context, settlements []Settlement) (lost []bool, err error)
	// Renew moves the ends of running attempts' leases to now+d, also of one
	// that has ended if nobody has claimed the delivery since. Lost as in
	// Settle.
	Renew(ctx context.Context, leases []Lease, d time.Duration) (lost []bool, err error)
	// Watch sends on the channel, which holds one signal, after events may
	// have become claimable, by this process or another. It is closed when ctx
	// ends.
	Watch(ctx context.Context) (<-chan struct{}, error)
	// Mend gives the turn to keys that have lost it (by hand edits) and
	// returns how many. It is called when a dispatcher starts.
	Mend(ctx context.Context) (int, error)
	// Purge removes at most limit events that are wholly published or
	// discarded and older than retention, by their last delivery. Less than
	// limit says that no more are there now.
	Purge(ctx context.Context, retention time.Duration, limit int) (int, error)

	SetDestination(ctx context.Context, change DestinationChange) error
	Destinations(ctx context.Context) ([]DestinationState, error)
}

// ClaimRequest asks for deliveries, destination by destination, in the order
// given.
type ClaimRequest struct {
	Wants []Want
	// CrashLimit: a suspect whose crash count has reached it is quarantined
	// (FailureCrash) instead of claimed.
	CrashLimit int
}

// Want is one destination's share of a claim.
type Want struct {
	Destination string
	// Room is how many ordinary deliveries may be claimed.
	Room int
	// Lease is how long they are leased.
	Lease time.Duration
	// FewestRetriesFirst orders by retries spent instead of due time: a
	// breaker's probe must not burn the attempts of the most tried delivery.
	FewestRetriesFirst bool
	// Suspect lets the claim take one suspect beside the ordinary ones. It
	// comes back with Suspect set and its crash count already raised. A
	// request has it set for at most one destination.
	Suspect bool
	// MaxAge: a due delivery older than this is quarantined (FailureExpired)
	// instead of claimed. 0: never.
	MaxAge time.Duration
}

// Claim is the answer to a ClaimRequest.
type Claim struct {
	// Deliveries: of one destination and ordering key, in the order in which
	// they must be attempted, one after another.
	Deliveries []*Delivery
	// Quarantined were dead-lettered by the claim itself.
	Quarantined []DeadLetterInfo
	// States has one entry a Want, in the same order.
	States []ClaimState
}

// ClaimState tells a dispatcher when to ask again.
type ClaimState struct {
	// NextDue is the time until the earliest delivery that could not be
	// claimed now is due; negative when there is none. 0 means that more
	// ordinary deliveries are due than Room took. Suspects that are due do not
	// count here: SuspectWaiting tells of them.
	NextDue time.Duration
	// SuspectWaiting is set when a suspect is due but was not taken.
	SuspectWaiting bool
	// PausedFor is the rest of the destination's pause, 0 when not paused.
	PausedFor time.Duration
	// Disabled is the reason when the destination is disabled, else "".
	Disabled string
}

// Verdict is what a settlement does with a delivery.
type Verdict int

const (
	// Deliver: PUBLISHED.
	Deliver Verdict = iota + 1
	// Retry: PENDING, an attempt spent, due after Delay.
	Retry
	// Quarantine: DEAD_LETTER, with its row in dead_letter_queue.
	Quarantine
	// GiveBack: PENDING, no attempt spent, due after Delay (0: at once, at
	// its old place). It does not reset the crash count: the raise of a
	// suspect claim is undone.
	GiveBack
)

// Settlement is one attempt's outcome, or a lease given back.
type Settlement struct {
	Lease   Lease
	Verdict Verdict
	Delay   time.Duration
	// Attempted says that an attempt was really made (its failure is then
	// kept in outbox_attempt); Spent that it counts as a retry.
	Attempted bool
	Spent     bool
	Kind      FailureKind // with Quarantine
	Failure   *Failure    // nil on success and plain give-backs
}

// Failure describes a failed attempt.
type Failure struct {
	StartedAt  time.Time
	Duration   time.Duration
	StatusCode int    // 0 when there was no answer
	Cause      string // a short class: status, timeout, dns, tls, refused, handler, panic, …
	Message    string // valid UTF-8, at most 2 KiB
}

// FailureKind is why a delivery was dead-lettered.
type FailureKind string

const (
	FailureExhausted   FailureKind = "exhausted"
	FailurePermanent   FailureKind = "permanent"
	FailureExpired     FailureKind = "expired"
	FailureCrash       FailureKind = "crash"
	FailureUndecodable FailureKind = "undecodable"
	FailureManual      FailureKind = "manual"
)

// DestinationChange changes what the store remembers of a destination.
type DestinationChange struct {
	Destination string
	Action      DestinationAction
	For         time.Duration // with Pause: from now; a shorter pause does not shorten a longer one
	Reason      string
}

type DestinationAction int

const (
	Pause DestinationAction = iota + 1
	Resume
	Disable
	Enable
)

// DestinationState is a destination as the store sees it, including ones
// that only old deliveries name.
type DestinationState struct {
	Destination    string
	PausedFor      time.Duration
	Reason         string
	DisabledReason string
	Pending        int64
	Processing     int64
	DeadLetters    int64
	OldestDue      time.Duration // since when the oldest open delivery has waited; 0 when none
}

// Admin is what people and tools need of a store.
type Admin interface {
	DeadLetters(ctx context.Context, f DeadLetterFilter) ([]DeadLetterInfo, error)
	// Replay makes the filtered dead letters PENDING again, each in one
	// transaction with its place in line; Discard drops them for good. Both
	// return what they did, or with dryRun would have done.
	Replay(ctx context.Context, f DeadLetterFilter, mode Mode) ([]DeadLetterInfo, error)
	Discard(ctx context.Context, f DeadLetterFilter, mode Mode) ([]DeadLetterInfo, error)
	// Move gives the open and dead deliveries of one destination to another.
	Move(ctx context.Context, m Move) (MoveResult, error)
	Attempts(ctx context.Context, eventID string, destination string) ([]AttemptInfo, error)
}

// Mode tells a bulk operation whether to change anything.
type Mode int

const (
	Apply Mode = iota
	DryRun
)

// DeadLetterFilter selects dead letters; zero fields select all.
type DeadLetterFilter struct {
	IDs           []int64
	EventID       string
	Destination   string
	EventType     string
	Kind          FailureKind
	OlderThan     time.Duration // quarantined at least this long ago
	After         int64         // page: only ids above it
	Limit         int           // 0: DefaultPage for DeadLetters, no limit for Replay and Discard
	WithPayload   bool
	ReasonMatches string // substring
}

// DefaultPage is how many dead letters one call returns unless told.
const DefaultPage = 100

// DeadLetterInfo is a row of dead_letter_queue with its event's type.
type DeadLetterInfo struct {
	ID             int64
	EventID        string
	EventType      string
	Version        int
	Destination    string
	OrderingKey    string
	IdempotencyKey string
	Kind           FailureKind
	Reason         string
	RetryCount     int
	ReplayCount    int
	QuarantinedAt  time.Time
	EventCreatedAt time.Time
	Payload        []byte
}

// Move names a renamed destination.
type Move struct {
	From, To string
	// Hold is the policy of the new place, per event type; types that are
	// missing keep theirs.
	Hold map[string]bool
	Mode Mode
}

// MoveResult counts what was moved and what was refused.
type MoveResult struct {
	Moved    int
	Leased   int // refused: an attempt is under way
	Existing int // refused: the event has a delivery there already
}

// AttemptInfo is one failed attempt.
type AttemptInfo struct {
	EventID     string
	Destination string
	Attempt     int
	Failure
}
