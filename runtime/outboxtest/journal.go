package outboxtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// journal is a list that can be waited on. The zero value is empty.
type journal[E any] struct {
	mu      sync.Mutex
	entries []E
	grown   chan struct{} // closed and replaced by each append; nil until somebody waits
}

func (j *journal[E]) append(e E) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, e)
	if j.grown != nil {
		close(j.grown)
		j.grown = nil
	}
}

func (j *journal[E]) all() []E {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}

// wait returns when there are n entries, or with what there is and an error
// when ctx ends first.
func (j *journal[E]) wait(ctx context.Context, n int) ([]E, error) {
	for {
		j.mu.Lock()
		entries := slices.Clone(j.entries)
		if j.grown == nil {
			j.grown = make(chan struct{})
		}
		grown := j.grown
		j.mu.Unlock()
		if len(entries) >= n {
			return entries, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return entries, fmt.Errorf("outboxtest: waited for %d, saw %d: %w", n, len(entries), ctx.Err())
		}
	}
}
