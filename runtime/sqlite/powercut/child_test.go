package powercut

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

// roleEnv makes this test binary one of the traced processes.
const roleEnv = "OUTBOXGEN_POWERCUT_ROLE"

const (
	database = "shop.db"
	sentFile = "sent" // one line an event handed on, written as a network would take it
	events   = 400
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := play(role, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		os.Exit(1)
	}
}

// play runs a role in folder dir and returns when all events are handed on.
func play(role, dir string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if role == "two processes" {
		return bothProcesses(dir)
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, database), sqlite.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	switch role {
	case "writer":
		return write(ctx, store)
	case "dispatcher":
		return dispatch(ctx, store, dir)
	case "one process":
		var writing sync.WaitGroup
		var writeErr error
		writing.Go(func() { writeErr = write(ctx, store) })
		err := dispatch(ctx, store, dir)
		writing.Wait()
		if writeErr != nil {
			return writeErr
		}
		return err
	}
	return fmt.Errorf("no such role")
}

func bothProcesses(dir string) error {
	var children []*exec.Cmd
	for _, role := range []string{"writer", "dispatcher"} {
		child := exec.Command(os.Args[0], dir)
		child.Env = append(os.Environ(), roleEnv+"="+role)
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			return err
		}
		children = append(children, child)
	}
	for _, child := range children {
		if err := child.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// write commits an order and its event, again and again. Every now and then it
// moves the WAL into the database file, so that it begins anew.
func write(ctx context.Context, store *sqlite.Store) error {
	checkpoints, err := sql.Open("sqlite", "file:"+store.Path()+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer checkpoints.Close()
	for i := 1; i <= events; i++ {
		err := store.InTx(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `INSERT INTO orders (id, note) VALUES (?, ?)`, i, strings.Repeat("n", 300)); err != nil {
				return err
			}
			id := uuid.Must(uuid.NewV7())
			_, err := store.Insert(ctx, tx, outbox.Record{
				ID: id, Type: "order.created", Version: 1, IdempotencyKey: fmt.Sprintf("%064d", i),
				Payload: []byte(strconv.Itoa(i)), Routes: []outbox.Route{{Destination: "sink"}},
			})
			return err
		})
		if err != nil {
			return err
		}
		if i%50 == 0 {
			if _, err := checkpoints.ExecContext(ctx, `PRAGMA wal_checkpoint(RESTART)`); err != nil {
				return err
			}
		}
	}
	return nil
}

// dispatch hands every event on by a line in the sent file.
func dispatch(ctx context.Context, store *sqlite.Store, dir string) error {
	sent, err := os.OpenFile(filepath.Join(dir, sentFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer sent.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	seen := map[string]bool{}
	sink := outbox.HandlerFunc(func(_ context.Context, d *outbox.Delivery) error {
		if _, err := sent.WriteString(string(d.Payload) + "\n"); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if seen[string(d.Payload)] = true; len(seen) == events {
			cancel()
		}
		return nil
	})
	destination, err := outbox.HandlerDestination("sink", sink, outbox.HandlerConfig{})
	if err != nil {
		return err
	}
	d, err := outbox.NewDispatcher(store, []outbox.Destination{destination}, outbox.Config{Batch: 10})
	if err != nil {
		return err
	}
	return d.Run(ctx)
}
