//go:build unix

package crashtest

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

// job is what the environment tells a child to do.
type job struct {
	Database string
	URL      string // of the receiver
	From, To int    // insert these
	Dispatch bool
	Lease    time.Duration // 0: lease
	Timeout  time.Duration // 0: timeout
	// DieAt names the point at which the process kills itself, when it is
	// reached for the Nth time.
	DieAt string
	Nth   int
	// Killer is the n of the event whose attempt kills the process; 0: none.
	Killer int
}

const (
	jobVariable = "OUTBOXGEN_CRASHTEST_JOB"
	lease       = 700 * time.Millisecond
	timeout     = 300 * time.Millisecond
	crashLimit  = outbox.DefaultCrashLimit
	keys        = 4
)

// points at which a process can be killed, in the order of an event's life.
var insertPoints = []string{"insert begun", "business row written", "event written", "insert committed"}

var dispatchPoints = []string{
	"before claim", "during claim", "claimed and synced",
	"before send", "sent and answered", "answer handled",
	"before settle", "settled",
	"before renewal", "renewed",
}

func TestMain(m *testing.M) {
	if spec := os.Getenv(jobVariable); spec != "" {
		os.Exit(childMain(spec))
	}
	os.Exit(m.Run())
}

func childMain(spec string) int {
	var j job
	if err := json.Unmarshal([]byte(spec), &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if err := j.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (j *job) run() error {
	j.Lease, j.Timeout = cmp.Or(j.Lease, lease), cmp.Or(j.Timeout, timeout)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { // the parent closes the pipe to ask for an orderly end
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	store, err := sqlite.Open(ctx, j.Database, sqlite.Options{})
	if err != nil {
		return err
	}
	p := &points{dieAt: j.DieAt, nth: int64(j.Nth)}
	say("ready")
	inserted := make(chan error, 1)
	go func() { inserted <- insert(ctx, store, p, j.From, j.To) }()
	if j.Dispatch {
		err = j.dispatch(ctx, store, p)
	}
	if insertErr := <-inserted; err == nil && ctx.Err() == nil {
		err = insertErr
	}
	if err != nil {
		return err
	}
	return store.Close()
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// points kills the process at one of them.
type points struct {
	dieAt string
	nth   int64
	seen  atomic.Int64
}

func (p *points) reach(name string) {
	if name == p.dieAt && p.seen.Add(1) == p.nth {
		say("reached %s", name)
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			panic(err)
		}
		select {} // until the signal arrives
	}
}

var orderPlaced = outbox.Definition{
	Source: "/shop", Type: "order.placed", Version: 1,
	Idempotency: canonical.Policy{Mode: canonical.ByFields, Fields: []string{"n"}},
	Routes:      []outbox.Route{{Destination: "billing"}},
}

// insert commits orders, each with its event. Those that are divisible by
// keys+1 have no ordering key.
func insert(ctx context.Context, store *sqlite.Store, p *points, from, to int) error {
	for n := from; n < to; n++ {
		key := ""
		if n%(keys+1) != 0 {
			key = "key" + strconv.Itoa(n%(keys+1))
		}
		err := store.InTx(ctx, func(tx *sql.Tx) error {
			p.reach("insert begun")
			if _, err := tx.ExecContext(ctx, "INSERT INTO orders (n) VALUES (?)", n); err != nil {
				return err
			}
			p.reach("business row written")
			_, err := outbox.InsertEvent(ctx, store, tx, &orderPlaced, key, fmt.Appendf(nil, `{"n":%d}`, n))
			p.reach("event written")
			return err
		})
		if err != nil {
			return err
		}
		p.reach("insert committed")
	}
	return nil
}

func (j *job) dispatch(ctx context.Context, store *sqlite.Store, p *points) error {
	send := func(ctx context.Context, d *outbox.Delivery) error {
		p.reach("before send")
		if bytes.Equal(d.Payload, fmt.Appendf(nil, `{"n":%d}`, j.Killer)) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, j.URL, bytes.NewReader(d.Payload))
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		p.reach("sent and answered")
		if err := res.Body.Close(); err != nil {
			return err
		}
		p.reach("answer handled")
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("answer %s", res.Status)
		}
		return nil
	}
	billing, err := outbox.HandlerDestination("billing", outbox.HandlerFunc(send), outbox.HandlerConfig{
		Timeout: j.Timeout, NoBreaker: true, Retry: outbox.RetryPolicy{Base: 10 * time.Millisecond, Cap: 100 * time.Millisecond, MaxAttempts: 1000},
	})
	if err != nil {
		return err
	}
	d, err := outbox.NewDispatcher(killStore{store, p}, []outbox.Destination{billing}, outbox.Config{
		Lease: j.Lease, PollInterval: 100 * time.Millisecond, CrashLimit: crashLimit, Batch: 10,
	})
	if err != nil {
		return err
	}
	return d.Run(ctx)
}

// killStore has the points that lie between a dispatcher and its store.
type killStore struct {
	*sqlite.Store
	p *points
}

func (s killStore) Claim(ctx context.Context, req outbox.ClaimRequest) (outbox.Claim, error) {
	s.p.reach("before claim")
	if s.p.dieAt == "during claim" && len(req.Wants) > 0 {
		// Somewhere between its begin, its commit, its sync and its end.
		time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, func() { s.p.reach("during claim") })
	}
	c, err := s.Store.Claim(ctx, req)
	if len(c.Deliveries) > 0 {
		s.p.reach("claimed and synced")
	}
	return c, err
}

func (s killStore) Settle(ctx context.Context, x []outbox.Settlement) ([]bool, error) {
	s.p.reach("before settle")
	lost, err := s.Store.Settle(ctx, x)
	s.p.reach("settled")
	return lost, err
}

func (s killStore) Renew(ctx context.Context, leases []outbox.Lease, d time.Duration) ([]bool, error) {
	s.p.reach("before renewal")
	lost, err := s.Store.Renew(ctx, leases, d)
	s.p.reach("renewed")
	return lost, err
}
