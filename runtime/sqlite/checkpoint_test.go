package sqlite

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func walSize(t *testing.T, s *Store) int64 {
	t.Helper()
	info, err := os.Stat(s.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestCheckpoint_RunsInTheBackgroundWhenWritersPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
		before := databaseSize(t, s)
		insertMany(t, s, 0, 500, noKey, "a")
		if databaseSize(t, s) != before {
			t.Error("a commit moved pages into the database file")
		}
		time.Sleep(2 * checkpointPause)
		synctest.Wait()
		if databaseSize(t, s) == before {
			t.Error("nothing was moved into the database file")
		}
	})
}

func databaseSize(t *testing.T, s *Store) int64 {
	t.Helper()
	info, err := os.Stat(s.path) // stat opens nothing
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestCheckpoint_CutsTheWALThatHasGrown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		sizes := walSizes{gathered: 50, most: 200}
		s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{wal: sizes, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for n := range 15 {
			insertMany(t, s, 100*n, 100, noKey, "a")
		}
		time.Sleep(checkpointPause + checkpointRetryMost)
		synctest.Wait()
		if size := walSize(t, s); size > int64(sizes.most)*4096 {
			t.Errorf("the -wal has %d bytes after a checkpoint", size)
		}
		if log.String() != "" {
			t.Errorf("nobody reads, and it was said: %s", &log)
		}
		if got := len(claim(t, s, "a", 5000)); got != 1500 {
			t.Errorf("%d of 1500 events are there", got)
		}
	})
}

// While a reader keeps an old snapshot the WAL grows by what is written; writers
// go on, it is said, and it is cut when the reader has gone.
func TestCheckpoint_LongReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		sizes := walSizes{gathered: 50, most: 200}
		s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{wal: sizes, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		insertMany(t, s, 0, 100, noKey, "a")
		n := 100
		reader := openSnapshot(t, s)
		for range 12 { // a minute
			insertMany(t, s, n, 100, noKey, "a")
			n += 100
			time.Sleep(5 * time.Second)
		}
		written := walSize(t, s)
		if written < int64(sizes.most)*4096 {
			t.Fatalf("the -wal has %d bytes: the test wrote too little", written)
		}
		if said := strings.Count(log.String(), "the WAL grows"); said == 0 || said > 13 {
			t.Errorf("it was said %d times in a minute", said)
		}
		var seen int
		if err := reader.QueryRow("SELECT count(*) FROM outbox").Scan(&seen); err != nil || seen >= n {
			t.Errorf("the reader sees %d events, %v", seen, err)
		}
		if err := reader.Rollback(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * checkpointRetryMost)
		synctest.Wait()
		if size := walSize(t, s); size != 0 {
			t.Errorf("the -wal still has %d bytes of %d when the reader has gone", size, written)
		}
		if got := len(claim(t, s, "a", n+1)); got != n {
			t.Errorf("%d of %d events are there", got, n)
		}
	})
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A steady load leaves the WAL no pause in which it would be reset by itself.
func TestCheckpoint_SteadyLoadKeepsTheWALBounded(t *testing.T) {
	sizes := walSizes{gathered: 50, most: 200}
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{wal: sizes})
	var wg sync.WaitGroup
	var mu sync.Mutex
	n, largest, cuts := 0, int64(0), 0
	for range 2 {
		wg.Go(func() {
			last := int64(0)
			// Until it has been cut: how long a checkpoint takes beside the
			// writers is the machine's affair.
			for range 10_000 {
				mu.Lock()
				first, enough := n, cuts > 2
				n += 5
				mu.Unlock()
				if enough {
					return
				}
				insertMany(t, s, first, 5, noKey, "a")
				size := walSize(t, s)
				mu.Lock()
				largest = max(largest, size)
				if size < last {
					cuts++
				}
				mu.Unlock()
				last = size
			}
		})
	}
	wg.Wait()
	t.Logf("the largest -wal was %d KiB, it was cut %d times", largest>>10, cuts)
	if cuts == 0 {
		t.Error("the -wal was never cut under a steady load")
	}
}
