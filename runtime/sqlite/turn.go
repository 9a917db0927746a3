package sqlite

import (
	"container/list"
	"context"
	"sync"
)

// turn is a lock that is handed on in the order in which it was asked for.
// (database/sql's own pool serves its waiters in random order.)
type turn struct {
	mu      sync.Mutex
	taken   bool
	waiting list.List // of chan struct{}, closed when its turn has come
}

// take waits for the turn. Who has it must pass it.
func (t *turn) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	place := t.waiting.PushBack(mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-mine: // it came at the same moment
		t.next()
	default:
		t.waiting.Remove(place)
	}
	return ctx.Err()
}

func (t *turn) pass() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next()
}

func (t *turn) next() {
	first := t.waiting.Front()
	if first == nil {
		t.taken = false
		return
	}
	close(t.waiting.Remove(first).(chan struct{}))
}
