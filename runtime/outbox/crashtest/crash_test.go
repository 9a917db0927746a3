//go:build unix

package crashtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

// shop is a database that children share, and the receiver of its events.
type shop struct {
	t    *testing.T
	path string
	url  string

	mu       sync.Mutex
	received []int // n of every request answered with 200, in order
	latency  time.Duration
}

func newShop(t *testing.T) *shop {
	s := &shop{t: t, path: filepath.Join(t.TempDir(), "shop.db")}
	store := s.open()
	tx, err := store.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "CREATE TABLE orders (n INTEGER PRIMARY KEY) STRICT"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tx.Commit(), store.Close()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(s.receive))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *shop) open() *sqlite.Store {
	s.t.Helper()
	store, err := sqlite.Open(s.t.Context(), s.path, sqlite.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

func (s *shop) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var order struct{ N int }
	if err != nil || json.Unmarshal(body, &order) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.received = append(s.received, order.N)
	latency := s.latency
	s.mu.Unlock()
	time.Sleep(latency) // of a slow receiver
}

func (s *shop) answerAfter(latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = latency
}

// child is a running process.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner
	errs  strings.Builder
}

// start runs the test binary with j and waits until it has opened the store.
func (s *shop) start(j job) *child {
	s.t.Helper()
	j.Database, j.URL = s.path, s.url
	spec, err := json.Marshal(j)
	if err != nil {
		s.t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	c := &child{t: s.t, cmd: exec.Command(exe)}
	c.cmd.Env = append(os.Environ(), jobVariable+"="+string(spec))
	c.cmd.Stderr = &c.errs
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	c.stdin, c.lines = stdin, bufio.NewScanner(stdout)
	if err := c.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	if !c.lines.Scan() || c.lines.Text() != "ready" {
		_ = c.cmd.Wait()
		s.t.Fatalf("child did not start: %s", c.errs.String())
	}
	return c
}

// died waits for the process's own SIGKILL and answers the point it told of.
func (c *child) died() (reached string) {
	c.t.Helper()
	for c.lines.Scan() {
		reached = strings.TrimPrefix(c.lines.Text(), "reached ")
	}
	c.killed(c.cmd.Wait())
	return reached
}

// killed checks that err is the end by SIGKILL.
func (c *child) killed(err error) {
	c.t.Helper()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		c.t.Fatalf("child ended with %v, want SIGKILL: %s", err, c.errs.String())
	}
}

// kill kills it from outside.
func (c *child) kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	c.killed(c.cmd.Wait())
}

// wait waits for its own end.
func (c *child) wait() {
	c.t.Helper()
	if err := c.cmd.Wait(); err != nil {
		c.t.Fatalf("child: %v: %s", err, c.errs.String())
	}
}

// stop ends it in order.
func (c *child) stop() {
	c.t.Helper()
	if err := errors.Join(c.stdin.Close(), c.cmd.Wait()); err != nil {
		c.t.Fatalf("child: %v: %s", err, c.errs.String())
	}
}

// state is what the database holds.
type state struct {
	orders, events []int // by n
	statuses       map[outbox.Status]int
	deadLetters    []int
}

func (s *shop) look(store *sqlite.Store) state {
	s.t.Helper()
	list := func(query string) (out []int) {
		rows, err := store.Readers().QueryContext(s.t.Context(), query)
		if err != nil {
			s.t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var n int
			if err := rows.Scan(&n); err != nil {
				s.t.Fatal(err)
			}
			out = append(out, n)
		}
		if err := rows.Err(); err != nil {
			s.t.Fatal(err)
		}
		return out
	}
	st := state{
		orders:      list("SELECT n FROM orders ORDER BY n"),
		events:      list("SELECT CAST(payload_json AS TEXT) ->> 'n' AS n FROM outbox ORDER BY 1"),
		deadLetters: list("SELECT CAST(payload_json AS TEXT) ->> 'n' FROM dead_letter_queue"),
		statuses:    map[outbox.Status]int{},
	}
	for _, status := range []outbox.Status{outbox.Pending, outbox.Processing, outbox.Published, outbox.DeadLetter} {
		st.statuses[status] = list(fmt.Sprintf("SELECT count(*) FROM outbox_delivery WHERE status = '%s'", status))[0]
	}
	return st
}

// finish lets a healthy process deliver what is left and checks the promises.
// Dead letters may only be of the events in mayBeDead.
func (s *shop) finish(mayBeDead ...int) state {
	s.t.Helper()
	store := s.open()
	defer store.Close()
	c := s.start(job{Dispatch: true})
	s.settled(store)
	c.stop()
	return s.check(store, mayBeDead)
}

// settled waits until nothing is open.
func (s *shop) settled(store *sqlite.Store) {
	s.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		st := s.look(store)
		if st.statuses[outbox.Pending]+st.statuses[outbox.Processing] == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("still open: %v", st.statuses)
		}
		time.Sleep(20 * time.Millisecond) // of the parent only: no outcome depends on it
	}
}

func (s *shop) check(store *sqlite.Store, mayBeDead []int) state {
	s.t.Helper()
	st := s.look(store)
	if !slices.Equal(st.orders, st.events) {
		s.t.Errorf("orders and events differ: %v and %v", st.orders, st.events)
	}
	for _, n := range st.deadLetters {
		if !slices.Contains(mayBeDead, n) {
			s.t.Errorf("event %d was quarantined", n)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[int]bool{}
	last := map[int]int{} // of each key
	for _, n := range s.received {
		if seen[n] {
			continue
		}
		seen[n] = true
		if key := n % (keys + 1); key != 0 {
			if n < last[key] {
				s.t.Errorf("order: %d came after %d", n, last[key])
			}
			last[key] = n
		}
	}
	for n := range seen {
		if !slices.Contains(st.orders, n) {
			s.t.Errorf("phantom: the receiver got %d, which the database does not have", n)
		}
	}
	for _, n := range st.events {
		if !seen[n] && !slices.Contains(mayBeDead, n) {
			s.t.Errorf("event %d was lost", n)
		}
	}
	return st
}

func TestKill_AtEachPointOfAnInsertLeavesBothRowsOrNeither(t *testing.T) {
	for _, point := range insertPoints {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			if got := s.start(job{From: 1, To: 20, DieAt: point, Nth: 7}).died(); got != point {
				t.Fatalf("reached %q, want %q", got, point)
			}
			st := s.finish()
			want := 6
			if point == "insert committed" {
				want = 7
			}
			if len(st.orders) != want {
				t.Errorf("%d orders, want %d", len(st.orders), want)
			}
		})
	}
}

func TestKill_AtEachPointOfADispatchLosesNothing(t *testing.T) {
	for _, point := range dispatchPoints {
		for _, nth := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, time %d", point, nth), func(t *testing.T) {
				t.Parallel()
				s := newShop(t)
				j := job{Dispatch: true, DieAt: point, Nth: nth}
				if strings.Contains(point, "renew") {
					// A lease is renewed when half of what it exceeds the timeout by is over.
					j.Lease, j.Timeout = 2400*time.Millisecond, 2*time.Second
					s.answerAfter(400 * time.Millisecond)
				}
				s.start(job{From: 1, To: 60}).wait()
				if got := s.start(j).died(); got != point {
					t.Fatalf("reached %q, want %q", got, point)
				}
				s.answerAfter(0)
				s.finish()
			})
		}
	}
}

// Case D-04: a process that dies spends no attempt of what it was about.
func TestKill_SpendsNoAttempt(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.start(job{From: 1, To: 2}).wait()
	for range 3 {
		if got := s.start(job{Dispatch: true, DieAt: "sent and answered", Nth: 1}).died(); got != "sent and answered" {
			t.Fatalf("reached %q", got)
		}
	}
	store := s.open()
	defer store.Close()
	var retries, crashes, attempts int
	err := store.Readers().QueryRowContext(t.Context(),
		"SELECT retry_count, crash_count, (SELECT count(*) FROM outbox_attempt) FROM outbox_delivery").Scan(&retries, &crashes, &attempts)
	if err != nil {
		t.Fatal(err)
	}
	// The first death was of an ordinary claim.
	if retries != 0 || attempts != 0 || crashes != 2 {
		t.Errorf("%d retries, %d failures kept, crash count %d; want 0, 0, 2", retries, attempts, crashes)
	}
	s.finish()
}

// rounds is how many random kills a test makes, and how long it may take for
// them on a busy machine.
func rounds() (n int, limit time.Duration) {
	switch {
	case os.Getenv("OUTBOXGEN_SOAK") != "":
		return 300, 10 * time.Minute
	case testing.Short():
		return 5, 10 * time.Second
	}
	return 25, 20 * time.Second
}

func TestKill_AtRandomLosesAndQuarantinesNothing(t *testing.T) {
	for _, dispatchers := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d dispatchers", dispatchers), func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.answerAfter(2 * time.Millisecond)
			next := 1
			kills, begin := 0, time.Now()
			n, limit := rounds()
			for range n {
				if time.Since(begin) > limit {
					break
				}
				// The first child inserts as well.
				children := []*child{s.start(job{Dispatch: true, From: next, To: next + 40})}
				for range dispatchers - 1 {
					children = append(children, s.start(job{Dispatch: true}))
				}
				time.Sleep(time.Duration(rand.Int64N(int64(250 * time.Millisecond)))) // the random moment
				victim := rand.IntN(len(children))
				children[victim].kill()
				kills++
				for i, c := range children {
					switch {
					case i == victim:
					case rand.IntN(2) == 0:
						c.kill()
						kills++
					default:
						c.stop()
					}
				}
				next += 40
			}
			st := s.finish()
			t.Logf("%d kills, %d events, %d requests", kills, len(st.events), len(s.received))
		})
	}
}

func TestKill_PayloadThatKillsItsProcessIsQuarantinedAndItsNeighboursDelivered(t *testing.T) {
	t.Parallel()
	const killer = 13
	s := newShop(t)
	s.start(job{From: 1, To: 40}).wait()
	store := s.open()
	defer store.Close()
	deaths := 0
	for len(s.look(store).deadLetters) == 0 {
		c := s.start(job{Dispatch: true, Killer: killer})
		// It dies of the killer, or quarantines it and is asked to stop.
		dead := make(chan error, 1)
		go func() { dead <- c.cmd.Wait() }()
		for running := true; running; {
			select {
			case err := <-dead:
				c.killed(err)
				deaths++
				running = false
			case <-time.After(20 * time.Millisecond):
				if len(s.look(store).deadLetters) > 0 {
					if err := errors.Join(c.stdin.Close(), <-dead); err != nil {
						t.Fatalf("child: %v: %s", err, c.errs.String())
					}
					running = false
				}
			}
		}
	}
	if deaths < crashLimit+1 {
		t.Errorf("quarantined after %d deaths, want its first and %d as a suspect", deaths, crashLimit)
	}
	st := s.finish(killer)
	if !slices.Equal(st.deadLetters, []int{killer}) {
		t.Errorf("dead letters %v", st.deadLetters)
	}
}
