package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

type riverArgs struct {
	Payload []byte `json:"payload"`
}

func (riverArgs) Kind() string { return "event" }

type riverWorker struct {
	river.WorkerDefaults[riverArgs]
	handle func([]byte)
}

func (w *riverWorker) Work(_ context.Context, job *river.Job[riverArgs]) error {
	w.handle(job.Args.Payload)
	return nil
}

type riverSubject struct {
	db     *sql.DB
	insert *river.Client[*sql.Tx]
}

func openRiver(ctx context.Context, dir string) (subject, error) {
	db, err := openPeerDB(filepath.Join(dir, "river.db"))
	if err != nil {
		return nil, err
	}
	// River's documentation for SQLite asks for one connection.
	db.SetMaxOpenConns(1)
	migrator, err := rivermigrate.New(riversqlite.New(db), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, fmt.Errorf("migrate river: %w", err)
	}
	if err := createBusiness(ctx, db); err != nil {
		return nil, err
	}
	insert, err := river.NewClient(riversqlite.New(db), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return &riverSubject{db: db, insert: insert}, nil
}

func (s *riverSubject) enqueue(ctx context.Context, n int) error { return repeat(ctx, n, s.enqueueOne) }

func (s *riverSubject) enqueueOne(ctx context.Context, id int) error {
	return inTx(ctx, s.db, func(tx *sql.Tx) error {
		if err := insertBusiness(ctx, tx, id); err != nil {
			return err
		}
		_, err := s.insert.InsertTx(ctx, tx, riverArgs{Payload: payload(id)}, nil)
		return err
	})
}

func (s *riverSubject) start(ctx context.Context, workers int, handle func([]byte)) (func() error, error) {
	w := river.NewWorkers()
	river.AddWorker(w, &riverWorker{handle: handle})
	// The settings of River's own benchmark command.
	client, err := river.NewClient(riversqlite.New(s.db), &river.Config{
		FetchCooldown:     2 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: max(workers, 2000)}},
		Workers:           w,
		Logger:            slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	return func() error { return client.StopAndCancel(context.WithoutCancel(ctx)) }, nil
}

func (s *riverSubject) waiting(ctx context.Context) (int, error) {
	return count(ctx, s.db, `SELECT count(*) FROM river_job WHERE state <> 'completed'`)
}

func (s *riverSubject) close() error { return s.db.Close() }
