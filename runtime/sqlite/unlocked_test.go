package sqlite

import (
	"database/sql"
	"errors"
	"testing"
)

// While a claim waits for the disk, another process can write at once: no
// transaction is open, and SQLite's lock is free.
func TestClaim_SyncsWithTheDatabaseUnlocked(t *testing.T) {
	s, files := openWatched(t)
	stranger, err := sql.Open("sqlite", "file:"+s.Path()+"?_txlock=immediate&_pragma=busy_timeout(0)")
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	syncs := 0
	files.onSync = func() {
		syncs++
		tx, err := stranger.Begin()
		if err == nil {
			_, err = tx.Exec("UPDATE outbox SET event_type = event_type WHERE FALSE")
			err = errors.Join(err, tx.Rollback())
		}
		if err != nil {
			t.Errorf("another process cannot write during the sync: %v", err)
		}
	}
	if n := len(claim(t, s, "a", 1)); n != 1 || syncs != 1 {
		t.Errorf("%d claimed with %d syncs", n, syncs)
	}
}
