package inbox_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

// A crash is a real one: this test binary runs once more as a consumer, and
// is killed where it says it stands.
const (
	crashRole   = "INBOX_TEST_CRASH"      // where the child stops: inside or committed
	crashFolder = "INBOX_TEST_CRASH_PATH" // its database
)

// crashingConsumer serves until it is killed. It says its URL, then "inside"
// when the handler has written, or "committed" before the answer is written.
func crashingConsumer(role, path string) error {
	store, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		return err
	}
	say := func(text string) { fmt.Println(text) }
	forever := make(chan struct{})
	apply := func(ctx context.Context, tx *sql.Tx, body []byte, m inbox.Message) error {
		if err := book(ctx, tx, body, m); err != nil {
			return err
		}
		if role == "inside" {
			say("inside")
			<-forever
		}
		return nil
	}
	var rows inbox.Store[*sql.Tx] = store.Inbox()
	if role == "committed" {
		rows = stopping{rows, func() { say("committed"); <-forever }}
	}
	receiver, err := inbox.NewReceiver(rows, []inbox.EventType[*sql.Tx]{
		{Type: "order.created", Version: 1, Idempotency: byOrder, Apply: apply},
	}, inbox.Config{Consumer: "billing", Sources: []string{source}, Secrets: []string{secretText(1)}})
	if err != nil {
		return err
	}
	return serve(receiver, say)
}

// stopping stops after the commit.
type stopping struct {
	inbox.Store[*sql.Tx]
	stop func()
}

func (s stopping) Apply(ctx context.Context, e inbox.Entry, fn func(context.Context, *sql.Tx) error) (inbox.Result, error) {
	result, err := s.Store.Apply(ctx, e, fn)
	s.stop()
	return result, err
}

// crashed delivers d to a child that stops as role says, and kills it there.
func crashed(t *testing.T, role, path string, d delivery) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(bounded(t), exe, "-test.run=^$")
	child.Env = append(os.Environ(), crashRole+"="+role, crashFolder+"="+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	next := func() string {
		if !lines.Scan() {
			t.Fatalf("the child ended early: %v", lines.Err())
		}
		return lines.Text()
	}
	url := next()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	answered := make(chan error, 1)
	req := d.request(t, url, time.Now(), mustSecret(t, secretText(1))).WithContext(bounded(t))
	go func() {
		resp, err := transport.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
			err = fmt.Errorf("answered %s", resp.Status)
		}
		answered <- err
	}()
	if at := next(); at != role {
		t.Fatalf("the child stands at %q, want %q", at, role)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err == nil || strings.Contains(err.Error(), "answered") {
		t.Fatalf("the sender saw %v, want a broken connection", err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := child.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
}

// W-10: what was not committed is gone, mark and effect; what was committed
// is there, mark and effect.
func TestCaseW10_CrashBeforeCommitLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "billing.db")
	l := openLedger(t, path)
	d := orderCreated("o-1")
	crashed(t, "inside", path, d)
	l.want(t, 0)
	l.deliver(t, d).want(t, 200, "applied")
	l.deliver(t, d).want(t, 200, "duplicate")
	l.want(t, 1)
}

func TestCaseW10_CrashAfterCommitIsADuplicateLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "billing.db")
	l := openLedger(t, path)
	d := orderCreated("o-1")
	crashed(t, "committed", path, d)
	l.want(t, 1)
	l.deliver(t, d).want(t, 200, "duplicate")
	l.want(t, 1)
}

// W-10: a restored backup has marks and effects of one moment.
func TestCaseW10_RestoredBackupAppliesWhatItDoesNotHave(t *testing.T) {
	folder := t.TempDir()
	l := openLedger(t, filepath.Join(folder, "billing.db"))
	l.deliver(t, orderCreated("o-1")).want(t, 200, "applied")
	backup := filepath.Join(folder, "backup.db")
	db, err := sql.Open("sqlite", filepath.Join(folder, "billing.db")) // as the sqlite3 shell would
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("VACUUM INTO ?", backup); err != nil {
		t.Fatal(err)
	}
	l.deliver(t, orderCreated("o-2")).want(t, 200, "applied")

	restored := openLedger(t, backup)
	restored.want(t, 1)
	restored.deliver(t, orderCreated("o-1")).want(t, 200, "duplicate")
	restored.deliver(t, orderCreated("o-2")).want(t, 200, "applied")
	restored.want(t, 2)
}

// Another process that has the key in progress: this one waits and then sees
// the duplicate, or says that it cannot tell. Here it is a second store on the
// same file.
func TestReceiver_KeyInProgressElsewhereWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "billing.db")
	here, there := openLedger(t, path), openLedger(t, path)
	d := orderCreated("o-1")
	entered, release := make(chan struct{}), make(chan struct{})
	slow, err := inbox.NewReceiver(there.store.Inbox(), []inbox.EventType[*sql.Tx]{{Type: "order.created", Version: 1, Idempotency: byOrder,
		Apply: func(ctx context.Context, tx *sql.Tx, body []byte, m inbox.Message) error {
			close(entered)
			<-release
			return book(ctx, tx, body, m)
		}}}, inbox.Config{Consumer: "billing", Sources: []string{source}, Secrets: []string{secretText(1)}})
	if err != nil {
		t.Fatal(err)
	}
	first, second := make(chan answered, 1), make(chan answered, 1)
	go func() { first <- serveOne(t, slow, d) }()
	<-entered
	go func() { second <- here.deliver(t, d) }()
	select {
	case a := <-second:
		t.Errorf("answered %d %s while another process was applying it", a.status, a.code)
	default:
	}
	close(release)
	(<-first).want(t, 200, "applied")
	(<-second).want(t, 200, "duplicate")
	here.want(t, 1)
}
