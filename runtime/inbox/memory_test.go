package inbox_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/storetest"
)

func TestMemory_Conforms(t *testing.T) {
	storetest.RunInbox(t, func(_ *testing.T, now func() time.Time) storetest.Inbox[*inbox.MemoryTx] {
		store := inbox.NewMemory(now)
		var mu sync.Mutex
		var effects []string
		return storetest.Inbox[*inbox.MemoryTx]{
			Store: store,
			Write: func(_ context.Context, tx *inbox.MemoryTx, effect string) error {
				tx.OnCommit(func() {
					mu.Lock()
					defer mu.Unlock()
					effects = append(effects, effect)
				})
				return nil
			},
			Effects: func(context.Context) ([]string, error) {
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(effects), nil
			},
		}
	})
}
