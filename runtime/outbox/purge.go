package outbox

import (
	"context"
	"time"
)

const (
	purgeEvery = time.Minute
	// purgeBatch is small so that the writer is soon free for others.
	purgeBatch = 500
	// purgeRest lets others write between two full batches.
	purgeRest = 20 * time.Millisecond
)

// purge removes old events until ctx ends.
func (d *Dispatcher) purge(ctx context.Context) {
	if d.cfg.Retention < 0 {
		return
	}
	timer := time.NewTimer(purgeEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		n, err := d.store.Purge(ctx, d.cfg.Retention, purgeBatch)
		if err != nil && ctx.Err() == nil {
			d.log.Error("purge failed: trying again", "error", err, "backoff_seconds", purgeEvery.Seconds())
		}
		d.purged.Add(int64(n))
		rest := purgeEvery
		if err == nil && n >= purgeBatch {
			rest = purgeRest
		}
		timer.Reset(rest)
	}
}
