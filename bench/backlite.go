package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"time"

	"github.com/mikestefanello/backlite"
)

type backliteTask struct{ Payload []byte }

func (backliteTask) Config() backlite.QueueConfig {
	return backlite.QueueConfig{Name: "event", MaxAttempts: 5, Backoff: 5 * time.Second, Timeout: 10 * time.Second}
}

type backliteSubject struct {
	db     *sql.DB
	client *backlite.Client
	handle func([]byte)
}

func openBacklite(ctx context.Context, dir string) (subject, error) {
	db, err := openPeerDB(filepath.Join(dir, "backlite.db"))
	if err != nil {
		return nil, err
	}
	s := &backliteSubject{db: db}
	if err := createBusiness(ctx, db); err != nil {
		return nil, err
	}
	return s, s.newClient(100)
}

// newClient is called again by start: a backlite client takes its number of
// workers when it is made.
func (s *backliteSubject) newClient(workers int) error {
	client, err := backlite.NewClient(backlite.ClientConfig{
		DB: s.db, NumWorkers: workers, ReleaseAfter: time.Minute, CleanupInterval: time.Hour,
	})
	if err != nil {
		return err
	}
	client.Register(backlite.NewQueue(func(_ context.Context, t backliteTask) error {
		s.handle(t.Payload)
		return nil
	}))
	s.client = client
	return client.Install()
}

func (s *backliteSubject) enqueue(ctx context.Context, n int) error {
	return repeat(ctx, n, s.enqueueOne)
}

func (s *backliteSubject) enqueueOne(ctx context.Context, id int) error {
	err := inTx(ctx, s.db, func(tx *sql.Tx) error {
		if err := insertBusiness(ctx, tx, id); err != nil {
			return err
		}
		_, err := s.client.Add(backliteTask{Payload: payload(id)}).Ctx(ctx).Tx(tx).Save()
		return err
	})
	s.client.Notify()
	return err
}

func (s *backliteSubject) start(ctx context.Context, workers int, handle func([]byte)) (func() error, error) {
	s.handle = handle
	if err := s.newClient(workers); err != nil {
		return nil, err
	}
	s.client.Start(ctx)
	return func() error {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		s.client.Stop(stopping)
		return nil
	}, nil
}

func (s *backliteSubject) waiting(ctx context.Context) (int, error) {
	return count(ctx, s.db, `SELECT count(*) FROM backlite_tasks`)
}

func (s *backliteSubject) close() error { return s.db.Close() }
