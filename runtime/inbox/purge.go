package inbox

import (
	"context"
	"time"
)

// purgeBatch bounds a purge's transaction, so that events are not kept
// waiting by one that has much to remove.
const purgeBatch = 500

// Purge removes the consumer's inbox rows that are older than
// [Config.Retention], in short transactions, and returns how many went.
func (r *Receiver) Purge(ctx context.Context) (int, error) {
	total := 0
	for {
		n, err := r.purge(ctx, r.cfg.Consumer, r.cfg.Retention, purgeBatch)
		total += n
		if err != nil || n < purgeBatch {
			return total, err
		}
	}
}

// Run purges now and then every [Config.PurgeInterval] until ctx ends, and
// returns nil. A purge that fails is logged and tried again at the next
// interval. One Run a consumer and store is enough, in any process.
func (r *Receiver) Run(ctx context.Context) error {
	tick := time.NewTicker(r.cfg.PurgeInterval)
	defer tick.Stop()
	for {
		n, err := r.Purge(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			r.log.ErrorContext(ctx, "inbox purge failed; it is tried again at the next interval",
				"consumer", r.cfg.Consumer, "purged", n, "error", err)
		case n > 0:
			r.log.DebugContext(ctx, "inbox purged", "consumer", r.cfg.Consumer, "purged", n)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
