package main

import (
	"context"
	"database/sql"
	_ "embed"
	"path/filepath"
	"time"

	"maragu.dev/goqite"
	"maragu.dev/goqite/jobs"
)

// goqiteSchema is goqite's schema_sqlite.sql (MIT): its module ships it as a
// file that cannot be imported.
//
//go:embed goqite_schema.sql
var goqiteSchema string

type goqiteSubject struct {
	db    *sql.DB
	queue *goqite.Queue
}

func openGoqite(ctx context.Context, dir string) (subject, error) {
	db, err := openPeerDB(filepath.Join(dir, "goqite.db"))
	if err != nil {
		return nil, err
	}
	// As goqite's README does.
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, goqiteSchema); err != nil {
		return nil, err
	}
	if err := createBusiness(ctx, db); err != nil {
		return nil, err
	}
	return &goqiteSubject{db: db, queue: goqite.New(goqite.NewOpts{DB: db, Name: "events"})}, nil
}

func (s *goqiteSubject) enqueue(ctx context.Context, n int) error {
	return repeat(ctx, n, s.enqueueOne)
}

func (s *goqiteSubject) enqueueOne(ctx context.Context, id int) error {
	return inTx(ctx, s.db, func(tx *sql.Tx) error {
		if err := insertBusiness(ctx, tx, id); err != nil {
			return err
		}
		_, err := jobs.CreateTx(ctx, tx, s.queue, "event", goqite.Message{Body: payload(id)})
		return err
	})
}

func (s *goqiteSubject) start(ctx context.Context, workers int, handle func([]byte)) (func() error, error) {
	runner := jobs.NewRunner(jobs.NewRunnerOpts{Queue: s.queue, Limit: workers, PollInterval: 100 * time.Millisecond})
	runner.Register("event", func(_ context.Context, m []byte) error {
		handle(m)
		return nil
	})
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runner.Start(ctx)
	}()
	return func() error {
		cancel()
		<-done
		return nil
	}, nil
}

func (s *goqiteSubject) waiting(ctx context.Context) (int, error) {
	return count(ctx, s.db, `SELECT count(*) FROM goqite`)
}

func (s *goqiteSubject) close() error { return s.db.Close() }
