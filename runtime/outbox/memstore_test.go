package outbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// memStore is a Store in memory whose clock is time.Now, so that a synctest
// bubble drives it, and whose calls can be made to fail or stall. The real
// store has its own tests; this one is for what a dispatcher does with it.
type memStore struct {
	mu      sync.Mutex
	rows    []*memRow            // by seq
	byDest  map[string][]*memRow // without some of those that are done for good
	open    map[string][]*memRow // of a destination and key, by seq, without the published ones in front
	leased  map[int64]*memRow    // by token
	seq     int64
	token   int64
	paused  map[string]time.Time
	off     map[string]string
	changes []DestinationChange
	changed chan struct{} // closed and replaced after each change
	signal  chan struct{}

	claims     []ClaimRequest
	settled    [][]Settlement // one element a transaction
	maxSuspect int            // most suspects leased at a time

	// Faults; called without mu held.
	onClaim  func(ClaimRequest) error
	onSettle func([]Settlement) error
	onRenew  func([]Lease) error
}

type memRow struct {
	event     *Event
	dest      string
	hold      bool
	status    Status
	retries   int
	crashes   int
	suspect   bool // leased as one
	due       time.Time
	token     int64
	created   time.Time
	kind      FailureKind
	lastError string
}

func newMemStore() *memStore {
	return &memStore{
		byDest: map[string][]*memRow{}, open: map[string][]*memRow{}, leased: map[int64]*memRow{},
		paused: map[string]time.Time{}, off: map[string]string{},
		changed: make(chan struct{}), signal: make(chan struct{}, 1),
	}
}

// put commits one event for the destinations.
func (s *memStore) put(key string, dests ...string) *Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	now := time.Now()
	e := &Event{Seq: s.seq, ID: uuid.New(), Type: "thing.happened", Version: 1, OrderingKey: key, Payload: []byte(`{}`), IdempotencyKey: "key", CreatedAt: now}
	for _, dest := range dests {
		r := &memRow{event: e, dest: dest, status: Pending, due: now, created: now}
		s.rows = append(s.rows, r)
		s.byDest[dest] = append(s.byDest[dest], r)
		s.open[r.line()] = append(s.open[r.line()], r)
	}
	s.touch()
	return e
}

// touch wakes watchers; mu is held.
func (s *memStore) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// await waits until the rows are as ok wants them.
func (s *memStore) await(ok func(rows []*memRow) bool) {
	for {
		s.mu.Lock()
		done, changed := ok(s.rows), s.changed
		s.mu.Unlock()
		if done {
			return
		}
		<-changed
	}
}

// all rows have status, which is one that they do not leave.
func all(status Status) func([]*memRow) bool {
	done := 0
	return func(rows []*memRow) bool {
		for done < len(rows) && rows[done].status == status {
			done++
		}
		return done == len(rows)
	}
}

// lease claims the row of e for another process, which will never answer.
func (s *memStore) lease(e *Event, dest string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if r.event == e && r.dest == dest {
			s.token++
			r.status, r.token, r.due = Processing, s.token, time.Now().Add(d)
			s.leased[r.token] = r
		}
	}
}

func (r *memRow) inLine() bool {
	return r.event.OrderingKey != "" && (r.status == Pending || r.status == Processing || r.status == DeadLetter && r.hold)
}

// blocked: an earlier delivery of r's key holds its place.
func (s *memStore) blocked(r *memRow) bool {
	if r.event.OrderingKey == "" {
		return false
	}
	line := s.open[r.line()]
	for line[0] != r && !line[0].inLine() {
		line = line[1:]
	}
	s.open[r.line()] = line
	return line[0] != r
}

// line names the line of r's destination and key.
func (r *memRow) line() string { return r.dest + "\x00" + r.event.OrderingKey }

func (s *memStore) Claim(ctx context.Context, req ClaimRequest) (Claim, error) {
	if s.onClaim != nil {
		if err := s.onClaim(req); err != nil {
			return Claim{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	req.Wants = slices.Clone(req.Wants)
	s.claims = append(s.claims, req)
	var c Claim
	for _, w := range req.Wants {
		c.States = append(c.States, s.claim(w, req.CrashLimit, &c))
	}
	if len(c.Deliveries)+len(c.Quarantined) > 0 {
		close(s.changed)
		s.changed = make(chan struct{})
	}
	return c, nil
}

func (s *memStore) claim(w Want, crashLimit int, c *Claim) ClaimState {
	now := time.Now()
	st := ClaimState{NextDue: -1, Disabled: s.off[w.Destination]}
	if rest := s.paused[w.Destination].Sub(now); rest > 0 {
		st.PausedFor = rest
	}
	if st.Disabled != "" || st.PausedFor > 0 {
		return st
	}
	var due []*memRow
	s.byDest[w.Destination] = slices.DeleteFunc(s.byDest[w.Destination], func(r *memRow) bool { return r.status == Published })
	for _, r := range s.byDest[w.Destination] {
		if r.status != Pending && r.status != Processing || s.blocked(r) {
			continue
		}
		switch {
		case r.due.After(now):
			if wait := r.due.Sub(now); st.NextDue < 0 || wait < st.NextDue {
				st.NextDue = wait
			}
		case r.status == Processing && w.Suspect && r.crashes >= crashLimit:
			s.quarantine(r, FailureCrash, c)
		case r.status == Processing && w.Suspect:
			w.Suspect = false
			r.crashes++
			r.suspect = true
			s.grant(r, w, c)
		case r.status == Processing:
			st.SuspectWaiting = true
		case w.MaxAge > 0 && now.Sub(r.created) >= w.MaxAge:
			s.quarantine(r, FailureExpired, c)
		default:
			due = append(due, r)
		}
	}
	slices.SortStableFunc(due, func(a, b *memRow) int {
		if w.FewestRetriesFirst && a.retries != b.retries {
			return cmp.Compare(a.retries, b.retries)
		}
		return a.due.Compare(b.due)
	})
	room := w.Room
	for _, head := range due {
		if room == 0 {
			st.NextDue = 0
			break
		}
		s.grant(head, w, c)
		room--
		if head.event.OrderingKey == "" {
			continue
		}
		for _, r := range s.open[head.line()][1:] {
			if room == 0 {
				break
			}
			if !r.inLine() {
				continue
			}
			if r.status != Pending || r.due.After(now) {
				break
			}
			s.grant(r, w, c)
			room--
		}
	}
	return st
}

func (s *memStore) grant(r *memRow, w Want, c *Claim) {
	s.token++
	now := time.Now()
	r.status, r.token, r.due = Processing, s.token, now.Add(w.Lease)
	s.leased[r.token] = r
	c.Deliveries = append(c.Deliveries, &Delivery{
		Event: r.event, Destination: r.dest, RetryCount: r.retries, CrashCount: r.crashes, Suspect: r.suspect,
		Age: now.Sub(r.created), Lease: Lease{r.event.Seq, r.dest, r.token},
	})
	suspects := 0
	if r.suspect {
		for _, o := range s.rows {
			if o.suspect && o.status == Processing {
				suspects++
			}
		}
	}
	s.maxSuspect = max(s.maxSuspect, suspects)
}

func (s *memStore) quarantine(r *memRow, kind FailureKind, c *Claim) {
	r.status, r.kind = DeadLetter, kind
	c.Quarantined = append(c.Quarantined, DeadLetterInfo{EventID: r.event.ID.String(), EventType: r.event.Type, Destination: r.dest, Kind: kind})
}

func (s *memStore) find(l Lease) *memRow {
	if r := s.leased[l.Token]; r != nil && r.token == l.Token && r.status == Processing {
		return r
	}
	return nil
}

func (s *memStore) Settle(ctx context.Context, settlements []Settlement) ([]bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.onSettle != nil {
		if err := s.onSettle(settlements); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled = append(s.settled, slices.Clone(settlements))
	lost := make([]bool, len(settlements))
	now := time.Now()
	for i, x := range settlements {
		r := s.find(x.Lease)
		if r == nil {
			lost[i] = true
			continue
		}
		if x.Spent {
			r.retries++
		}
		if x.Failure != nil {
			r.lastError = x.Failure.Message
		}
		if x.Verdict == GiveBack && r.suspect {
			r.crashes--
		} else if x.Verdict != GiveBack {
			r.crashes = 0
		}
		r.suspect, r.token = false, 0
		switch x.Verdict {
		case Deliver:
			r.status = Published
		case Quarantine:
			r.status, r.kind = DeadLetter, x.Kind
		case Retry:
			r.status, r.due = Pending, now.Add(x.Delay)
		case GiveBack:
			r.status, r.due = Pending, now.Add(x.Delay)
			if x.Delay == 0 {
				r.due = r.created
			}
		default:
			return nil, errors.New("memstore: settlement without a verdict")
		}
	}
	s.touch()
	return lost, nil
}

func (s *memStore) Renew(ctx context.Context, leases []Lease, d time.Duration) ([]bool, error) {
	if s.onRenew != nil {
		if err := s.onRenew(leases); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := make([]bool, len(leases))
	for i, l := range leases {
		if r := s.find(l); r != nil {
			r.due = time.Now().Add(d)
		} else {
			lost[i] = true
		}
	}
	return lost, nil
}

func (s *memStore) Watch(ctx context.Context) (<-chan struct{}, error) {
	out := make(chan struct{}, 1)
	go func() {
		defer close(out)
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.signal:
				select {
				case out <- struct{}{}:
				default:
				}
			}
		}
	}()
	return out, nil
}

func (s *memStore) Mend(context.Context) (int, error) { return 0, nil }

func (s *memStore) Purge(ctx context.Context, retention time.Duration, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	s.rows = slices.DeleteFunc(s.rows, func(r *memRow) bool {
		gone := n < limit && r.status == Published && time.Since(r.created) >= retention
		if gone {
			n++
		}
		return gone
	})
	return n, nil
}

func (s *memStore) SetDestination(ctx context.Context, c DestinationChange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes = append(s.changes, c)
	switch c.Action {
	case Pause:
		s.paused[c.Destination] = later(s.paused[c.Destination], time.Now().Add(c.For))
	case Resume:
		delete(s.paused, c.Destination)
	case Disable:
		s.off[c.Destination] = c.Reason
	case Enable:
		delete(s.off, c.Destination)
	}
	s.touch()
	return nil
}

func (s *memStore) Destinations(context.Context) ([]DestinationState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	byName := map[string]*DestinationState{}
	for _, r := range s.rows {
		st := byName[r.dest]
		if st == nil {
			st = &DestinationState{Destination: r.dest}
			byName[r.dest] = st
		}
		switch r.status {
		case Pending:
			st.Pending++
			st.OldestDue = max(st.OldestDue, time.Since(r.due))
		case Processing:
			st.Processing++
		case DeadLetter:
			st.DeadLetters++
		}
	}
	var out []DestinationState
	for _, st := range byName {
		out = append(out, *st)
	}
	return out, nil
}

// start runs a dispatcher over s until the test calls stop, which answers
// Run's error.
func start(t *testing.T, s Store, cfg Config, dests ...Destination) (d *Dispatcher, stop func() error) {
	t.Helper()
	d, err := NewDispatcher(s, dests, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return d, stop
}
