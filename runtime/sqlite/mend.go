package sqlite

import (
	"context"
	"database/sql"

	"github.com/outboxgen/outboxgen/internal/sqlitedb"
)

// mendedAtOnce bounds one transaction of Mend.
const mendedAtOnce = 500

// Mend implements outbox.Store. A key loses its turn only by hand edits; that
// two of one key have it is what a unique index forbids.
func (s *Store) Mend(ctx context.Context) (int, error) {
	keys, err := sqlitedb.New(s.reads).KeysWithoutTurn(ctx)
	if err != nil {
		return 0, explain("look for stranded keys in", s.path, err)
	}
	mended := 0
	for len(keys) > 0 {
		n := min(len(keys), mendedAtOnce)
		err := s.inTx(ctx, func(tx *sql.Tx) error {
			l := line{q: sqlitedb.New(tx), now: s.micros()}
			for _, k := range keys[:n] {
				if err := l.arrange(k.Destination, k.OrderingKey); err != nil {
					return err
				}
			}
			s.w.wakes.Store(true)
			return nil
		})
		if err != nil {
			return mended, explain("mend stranded keys in", s.path, err)
		}
		mended, keys = mended+n, keys[n:]
	}
	return mended, nil
}
