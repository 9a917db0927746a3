package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

// floor is what a careful person writes by hand on the same tables: prepared
// statements, one claim of up to 100 in a transaction, one sync of the -wal
// before anything of it is handed on, one settle in a transaction. It knows no
// retry, no fence, no key, no breaker, no shutdown.
type floor struct {
	db  *sql.DB
	wal *os.File

	begin                     sync.Mutex
	business, event, delivery *sql.Stmt
	due, lease, settle        *sql.Stmt
	committed                 chan struct{} // holds one signal
	key                       [64]byte
}

const floorBatch = 100

func openFloor(ctx context.Context, dir string) (subject, error) {
	path := filepath.Join(dir, "floor.db")
	store, err := sqlite.Open(ctx, path, sqlite.Options{}) // the same tables
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	db, err := openPeerDB(path)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "PRAGMA wal_autocheckpoint = 20000"); err != nil {
		return nil, err
	}
	if err := createBusiness(ctx, db); err != nil {
		return nil, err
	}
	f := &floor{db: db, committed: make(chan struct{}, 1)}
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&f.business, businessInsert},
		{&f.event, `INSERT INTO outbox (id, event_type, schema_version, idempotency_key, created_at, payload_json) VALUES (?, 'order.placed', 1, ?, ?, ?)`},
		{&f.delivery, `INSERT INTO outbox_delivery (seq, destination, hold, ready, in_line, available_at, created_at, updated_at) VALUES (?, 'sink', 0, 1, 0, ?3, ?3, ?3)`},
		{&f.due, `SELECT d.seq, o.payload_json FROM outbox_delivery AS d CROSS JOIN outbox AS o
			WHERE d.destination = 'sink' AND d.ready = 1 AND d.suspect = 0 AND d.available_at <= ? AND o.seq = d.seq
			ORDER BY d.available_at, d.seq LIMIT 100`},
		{&f.lease, `UPDATE outbox_delivery SET status = 'PROCESSING', suspect = 1, lease_token = ?, available_at = ?, updated_at = ?
			WHERE destination = 'sink' AND seq IN (SELECT value FROM json_each(?))`},
		{&f.settle, `UPDATE outbox_delivery SET status = 'PUBLISHED', ready = 0, suspect = 0, lease_token = 0, updated_at = ?
			WHERE destination = 'sink' AND seq IN (SELECT value FROM json_each(?))`},
	} {
		if *p.stmt, err = db.PrepareContext(ctx, p.text); err != nil {
			return nil, fmt.Errorf("floor: %w", err)
		}
	}
	f.wal, err = os.OpenFile(path+"-wal", os.O_RDWR, 0)
	return f, err
}

func (f *floor) enqueue(ctx context.Context, n int) error { return repeat(ctx, n, f.enqueueOne) }

func (f *floor) enqueueOne(ctx context.Context, id int) error {
	now := time.Now().UnixMicro()
	key := fmt.Sprintf("%064d", id)
	body := payload(id)
	err := inTx(ctx, f.db, func(tx *sql.Tx) error {
		if _, err := tx.StmtContext(ctx, f.business).ExecContext(ctx, id, "ada@example.org", "12.50"); err != nil {
			return err
		}
		res, err := tx.StmtContext(ctx, f.event).ExecContext(ctx, key[28:], key, now, string(body))
		if err != nil {
			return err
		}
		seq, err := res.LastInsertId()
		if err != nil {
			return err
		}
		_, err = tx.StmtContext(ctx, f.delivery).ExecContext(ctx, seq, now, now)
		return err
	})
	select {
	case f.committed <- struct{}{}:
	default:
	}
	return err
}

func (f *floor) start(ctx context.Context, _ int, handle func([]byte)) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		for {
			n, err := f.batch(ctx, handle)
			switch {
			case ctx.Err() != nil:
				done <- nil
				return
			case err != nil:
				done <- err
				return
			case n == floorBatch:
				continue
			}
			select {
			case <-ctx.Done():
			case <-f.committed:
			}
		}
	}()
	return func() error {
		cancel()
		return <-done
	}, nil
}

// batch claims, syncs, hands on and settles up to a hundred deliveries.
func (f *floor) batch(ctx context.Context, handle func([]byte)) (int, error) {
	seqs, payloads, err := f.claim(ctx)
	if err != nil || len(seqs) == 0 {
		return 0, err
	}
	if err := f.wal.Sync(); err != nil {
		return 0, err
	}
	for _, p := range payloads {
		handle(p)
	}
	list, err := json.Marshal(seqs)
	if err != nil {
		return 0, err
	}
	_, err = f.settle.ExecContext(context.WithoutCancel(ctx), time.Now().UnixMicro(), string(list))
	return len(seqs), err
}

func (f *floor) claim(ctx context.Context) (seqs []int64, payloads [][]byte, err error) {
	now := time.Now()
	err = inTx(ctx, f.db, func(tx *sql.Tx) error {
		rows, err := tx.StmtContext(ctx, f.due).QueryContext(ctx, now.UnixMicro())
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var seq int64
			var body []byte
			if err := rows.Scan(&seq, &body); err != nil {
				return err
			}
			seqs, payloads = append(seqs, seq), append(payloads, body)
		}
		if err := rows.Close(); err != nil || len(seqs) == 0 {
			return err
		}
		list, err := json.Marshal(seqs)
		if err != nil {
			return err
		}
		_, err = tx.StmtContext(ctx, f.lease).ExecContext(ctx, now.UnixNano(), now.Add(time.Minute).UnixMicro(), now.UnixMicro(), string(list))
		return err
	})
	return seqs, payloads, err
}

func (f *floor) waiting(ctx context.Context) (int, error) {
	return count(ctx, f.db, `SELECT count(*) FROM outbox_delivery WHERE status <> 'PUBLISHED'`)
}

func (f *floor) close() error {
	f.wal.Close()
	return f.db.Close()
}
