package inbox

import (
	"context"
	"sync"
	"time"
)

// Memory is a [Store] that forgets when the process ends: for tests and
// demonstrations, not for a consumer whose effects outlive the process. It
// runs one transaction at a time.
type Memory struct {
	now    func() time.Time
	writer chan struct{} // holds one token: who has it may write
	mu     sync.Mutex    // guards rows
	rows   map[memoryKey]memoryRow
}

type memoryKey struct{ consumer, idempotencyKey string }

type memoryRow struct {
	fingerprint string
	receivedAt  time.Time
}

// MemoryTx is the transaction of a [Memory] store: a handler's effects are
// what it leaves to OnCommit.
type MemoryTx struct {
	onCommit []func()
}

// OnCommit adds an effect. Effects run in order when the handler has
// returned without an error, with the event's inbox row, and before the
// next transaction; they must not panic.
func (tx *MemoryTx) OnCommit(effect func()) { tx.onCommit = append(tx.onCommit, effect) }

// NewMemory returns an empty store. now is its clock; nil means time.Now.
func NewMemory(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	m := &Memory{now: now, writer: make(chan struct{}, 1), rows: make(map[memoryKey]memoryRow)}
	m.writer <- struct{}{}
	return m
}

// Apply implements [Store].
func (m *Memory) Apply(ctx context.Context, e Entry, fn func(context.Context, *MemoryTx) error) (Result, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	select {
	case <-m.writer:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { m.writer <- struct{}{} }()

	key := memoryKey{e.Consumer, e.IdempotencyKey}
	if row, ok := m.row(key); ok {
		if row.fingerprint != e.Fingerprint {
			return Mismatch, nil
		}
		return Duplicate, nil
	}
	tx := &MemoryTx{}
	received := m.now()
	if err := fn(ctx, tx); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	for _, effect := range tx.onCommit {
		effect()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows[key] = memoryRow{e.Fingerprint, received}
	return Applied, nil
}

func (m *Memory) row(key memoryKey) (memoryRow, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	row, ok := m.rows[key]
	return row, ok
}

// Purge implements [Store].
func (m *Memory) Purge(ctx context.Context, consumer string, retention time.Duration, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	before := m.now().Add(-retention)
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for key, row := range m.rows {
		if n == limit {
			break
		}
		if key.consumer == consumer && row.receivedAt.Before(before) {
			delete(m.rows, key)
			n++
		}
	}
	return n, nil
}
