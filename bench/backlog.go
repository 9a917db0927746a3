package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// What a bulk writes, with SQL alone: the events' names and ordering key, and
// the deliveries' ready, in_line, status, retry_count and names are filled in.
const bulkEvents = `
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
INSERT INTO outbox (id, event_type, schema_version, ordering_key, idempotency_key, created_at, payload_json)
SELECT printf('%s-%%d', i), 'order.placed', 1, %s, printf('%s-%%058d', i), ?2, ?3 FROM n`

const bulkDeliveries = `
INSERT INTO outbox_delivery (seq, destination, ordering_key, hold, ready, in_line, status, retry_count, available_at, created_at, updated_at)
SELECT seq, 'sink', ordering_key, 0, %s, %s, '%s', %d, ?2, ?1, ?1 FROM outbox WHERE id LIKE '%s-%%'`

type bulk struct {
	name          string
	n             int
	key           string // SQL
	ready, inLine string // SQL
	status        string
	retries       int
	due           time.Duration
	dead          bool
}

func (b bulk) write(ctx context.Context, s *ours) error {
	now := time.Now()
	return s.store.InTx(ctx, func(tx *sql.Tx) error {
		key := b.key
		if key == "" {
			key = "NULL"
		}
		events := fmt.Sprintf(bulkEvents, b.name, key, b.name)
		if _, err := tx.ExecContext(ctx, events, b.n, now.UnixMicro(), string(payload(0))); err != nil {
			return err
		}
		deliveries := fmt.Sprintf(bulkDeliveries, b.ready, b.inLine, b.status, b.retries, b.name)
		if _, err := tx.ExecContext(ctx, deliveries, now.UnixMicro(), now.Add(b.due).UnixMicro()); err != nil {
			return err
		}
		if !b.dead {
			return nil
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf(`INSERT INTO dead_letter_queue
			(original_event_id, destination, failure_kind, failure_reason, retry_count, quarantined_at, payload_json)
			SELECT id, 'sink', 'exhausted', 'status 500', 20, ?, payload_json FROM outbox WHERE id LIKE '%s-%%'`, b.name), now.UnixMicro())
		return err
	})
}

var (
	published  = bulk{name: "p", n: 1_000_000, ready: "0", inLine: "0", status: "PUBLISHED"}
	dead       = bulk{name: "d", n: 50_000, ready: "0", inLine: "0", status: "DEAD_LETTER", retries: 20, dead: true}
	backingOff = bulk{name: "b", n: 100_000, ready: "1", inLine: "0", status: "PENDING", retries: 3, due: time.Hour}
	blocked    = bulk{name: "k", n: 300_000, key: "'blocked'", ready: "seq = (SELECT min(seq) FROM outbox)", inLine: "1", status: "PENDING", retries: 1, due: time.Hour}
)

func measureBacklog(ctx context.Context, r *report) error {
	const n = 20_000
	cases := []struct {
		what string
		rows []bulk
	}{
		{"an empty table", nil},
		{"1,000,000 published and 50,000 dead rows", []bulk{published, dead}},
		{"100,000 rows backing off", []bulk{backingOff}},
		{"300,000 rows behind one blocked key", []bulk{blocked}},
	}
	var empty float64
	for i, c := range cases {
		var rates []float64
		err := onEach(ctx, 1, openers[1:2], func(_ opener, s subject) error {
			o := s.(*ours)
			for _, b := range c.rows {
				if err := b.write(ctx, o); err != nil {
					return err
				}
			}
			for range *rounds {
				if err := o.fill(ctx, n, o.placed); err != nil {
					return err
				}
				rate, err := drain(ctx, dueOnly{o}, 0, n)
				if err != nil {
					return err
				}
				rates = append(rates, rate)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		mid := median(rates)
		r.rate("drain 20,000 with "+c.what, "outboxgen", mid)
		if i == 0 {
			empty = mid
			continue
		}
		r.atLeast("drain with "+c.what+": of an empty table", mid/empty, 0.85)
	}
	return nil
}

// dueOnly is ours, but waiting only for what is due.
type dueOnly struct{ *ours }

func (s dueOnly) waiting(ctx context.Context) (int, error) {
	return count(ctx, s.store.Readers(), fmt.Sprintf(`SELECT count(*) FROM outbox_delivery WHERE destination = 'sink' AND ready = 1 AND
		(suspect = 1 OR (suspect = 0 AND available_at <= %d))`, time.Now().UnixMicro()))
}

// measureMemory compares the peak memory of a process that delivers 10,000
// waiting events with that of one that delivers as many of 1,000,000.
func measureMemory(ctx context.Context, r *report) error {
	peak := func(waiting int) (float64, error) {
		var megabytes float64
		err := inDir(func(dir string) error {
			path := filepath.Join(dir, "ours.db")
			s, err := openOursAt(ctx, path)
			if err != nil {
				return err
			}
			if err := (bulk{name: "w", n: waiting, ready: "1", inLine: "0", status: "PENDING"}).write(ctx, s); err != nil {
				return err
			}
			if err := s.close(); err != nil {
				return err
			}
			var out bytes.Buffer
			child := exec.CommandContext(ctx, os.Args[0], childPrefix+"drain", path, "10000")
			child.Stdout, child.Stderr = &out, os.Stderr
			if err := child.Run(); err != nil {
				return err
			}
			megabytes, err = strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
			return err
		})
		return megabytes, err
	}
	few, err := peak(10_000)
	if err != nil {
		return err
	}
	many, err := peak(1_000_000)
	if err != nil {
		return err
	}
	r.value("peak memory, 10,000 waiting", "outboxgen", "%.0f MB", few)
	r.value("peak memory, 1,000,000 waiting", "outboxgen", "%.0f MB", many)
	r.atMost("memory at 1,000,000 waiting, MB above that at 10,000", many-few, 20)
	return nil
}

// drainAndWeigh delivers n events and prints this process's peak memory in MB.
func drainAndWeigh(path, n string) error {
	ctx := context.Background()
	want, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	s, err := openOursAt(ctx, path)
	if err != nil {
		return err
	}
	defer s.close()
	handled := make(chan struct{}, 1024)
	done := make(chan struct{})
	stop, err := s.start(ctx, 0, func([]byte) {
		select {
		case handled <- struct{}{}:
		case <-done:
		}
	})
	if err != nil {
		return err
	}
	for range want {
		<-handled
	}
	close(done)
	if err := stop(); err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if kilobytes, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.Atoi(strings.Fields(kilobytes)[0])
			fmt.Println(float64(kb) / 1024)
			return err
		}
	}
	return fmt.Errorf("/proc/self/status names no VmHWM")
}
