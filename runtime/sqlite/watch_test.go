package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

// Another process's commits are signalled, the last of each burst too.
func TestWatch_SeesCommitsOfAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openStore(t, path, Options{})
	signals, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "insert", path, "50")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for seen < 50 {
		select {
		case <-signals:
			seen += len(claim(t, s, "a", 100))
		case <-t.Context().Done():
			t.Fatalf("%d of 50 events were seen", seen)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

func childInsert(ctx context.Context, args []string) error {
	s, err := Open(ctx, args[0], Options{})
	if err != nil {
		return err
	}
	var n int
	if _, err := fmt.Sscan(args[1], &n); err != nil {
		return err
	}
	for i := range n {
		err := s.InTx(ctx, func(tx *sql.Tx) error {
			_, err := s.Insert(ctx, tx, record(i, "", "a"))
			return err
		})
		if err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return s.Close()
}
