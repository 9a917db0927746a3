package powercut

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

// cuts is about how many cuts are made at random places, and as many again at
// syncs and sends, for each way of running.
func cuts() int {
	if os.Getenv("OUTBOXGEN_SOAK") != "" {
		return 20_000
	}
	return 300
}

func TestPowerCut_NoEventIsSentWhoseOrderIsLost(t *testing.T) {
	strace := requireStrace(t)
	for _, role := range []string{"one process", "two processes"} {
		t.Run(role, func(t *testing.T) {
			dir, start, ops := record(t, strace, role)
			checkTrace(t, ops)
			n, phantoms := simulate(t, dir, start, ops, cuts())
			t.Logf("%d cuts of %d system calls: %d phantoms", n, len(ops), phantoms)
			if phantoms > 0 {
				t.Errorf("%d of %d cuts left a receiver with an event whose order the database lacks", phantoms, n)
			}

			// Without the syncs of the -wal the same trace must show phantoms:
			// else this test could not see them.
			var deaf []op
			for _, o := range ops {
				if o.kind == "sync" && strings.HasSuffix(o.file, "-wal") {
					o.begun = 0 // covers nothing
				}
				deaf = append(deaf, o)
			}
			if n, phantoms := simulate(t, dir, start, deaf, 200); phantoms == 0 {
				t.Errorf("%d cuts with a deaf sync showed no phantom: the simulation is blind", n)
			}
		})
	}
}

func requireStrace(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err == nil {
		err = exec.Command(path, "-o", os.DevNull, "true").Run()
	}
	if err != nil {
		if os.Getenv("OUTBOXGEN_REQUIRE_SERVICES") == "1" {
			t.Fatalf("strace is required and does not run: %v", err)
		}
		t.Skipf("SKIPPED: power cuts are NOT tested here: strace does not run: %v", err)
	}
	return path
}

// record runs a role under strace. It returns the folder it ran in, a copy of
// what the folder held before, and the trace.
func record(t *testing.T, strace, role string) (dir string, start *disk, ops []op) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	store, err := sqlite.Open(ctx, filepath.Join(dir, database), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = store.InTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT NOT NULL)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, sentFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if start, err = newDisk(dir); err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	child := exec.CommandContext(ctx, strace, "-f", "-y", "-xx", "-s", "1000000", "-o", trace,
		"-e", "trace=openat,pwrite64,write,ftruncate,fsync,fdatasync,unlink,unlinkat,rename,renameat,renameat2",
		"-e", "signal=none", os.Args[0], dir)
	child.Env = append(os.Environ(), roleEnv+"="+role)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if ops, err = readTrace(trace, dir); err != nil {
		t.Fatal(err)
	}
	return dir, start, ops
}

// checkTrace makes sure that the trace shows what the test is about.
func checkTrace(t *testing.T, ops []op) {
	t.Helper()
	seen := map[string]int{}
	restarts := 0
	for _, o := range ops {
		seen[o.kind+" "+filepath.Ext(strings.TrimSuffix(o.file, "-wal"))+suffix(o.file)]++
		if o.kind == "write" && strings.HasSuffix(o.file, "-wal") && o.off == 0 {
			restarts++
		}
	}
	if n := seen["sent "]; n < events {
		t.Fatalf("%d events sent, want %d: %v", n, events, seen)
	}
	for _, kind := range []string{"write .db-wal", "sync .db-wal", "write .db", "sync .db"} {
		if seen[kind] == 0 {
			t.Fatalf("the trace has no %q: %v", kind, seen)
		}
	}
	if restarts < 3 {
		t.Fatalf("the WAL began anew %d times, want 3 at least", restarts)
	}
}

func suffix(file string) string {
	if strings.HasSuffix(file, "-wal") {
		return "-wal"
	}
	return ""
}

// simulate cuts at n places spread over the trace, at syncs and between, each
// with another fate for what was not synced, and counts the cuts that left
// phantoms.
func simulate(t *testing.T, dir string, start *disk, ops []op, n int) (made, phantoms int) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 1))
	places := map[int]bool{}
	for i, o := range ops {
		if o.kind == "sync" || o.kind == "sent" {
			places[i] = true // before it, and below after it
		}
	}
	chance := float64(n) / float64(int(fates)*len(ops))
	chanceAtSyncs := float64(n) / float64(int(fates)*len(places))
	d := start.clone()
	scratch := t.TempDir()
	for i, o := range ops {
		p := chance
		if places[i] {
			p = chanceAtSyncs
		}
		if rnd.Float64() < p {
			for what := range fates {
				made++
				if lost := verify(t, scratch, made, d, what, rnd); lost != "" {
					phantoms++
					if phantoms <= 3 {
						t.Logf("seed %d, cut before call %d, fate %d: %s", seed, i, what, lost)
					}
				}
			}
		}
		d.apply(i, o)
	}
	return made, phantoms
}

func (d *disk) clone() *disk {
	c := &disk{files: map[string]*file{}}
	for name, f := range d.files {
		c.files[name] = &file{durable: append([]byte(nil), f.durable...), entry: f.entry}
	}
	return c
}

// verify rebuilds the database after a cut and names the first order that was
// sent and is lost, if any.
func verify(t *testing.T, scratch string, number int, d *disk, what fate, rnd *rand.Rand) string {
	t.Helper()
	dir := filepath.Join(scratch, fmt.Sprint(number))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := d.cut(dir, what, rnd); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, database))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var health string
	if err := db.QueryRow(`PRAGMA quick_check`).Scan(&health); err != nil || health != "ok" {
		return fmt.Sprintf("the database is broken: %s %v", health, err)
	}
	rows, err := db.Query(`SELECT o.id FROM orders AS o JOIN outbox AS e ON e.payload_json = CAST(o.id AS TEXT)`)
	if err != nil {
		return fmt.Sprintf("read the orders: %v", err)
	}
	defer rows.Close()
	there := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		there[id] = true
	}
	if err := rows.Err(); err != nil {
		return fmt.Sprintf("read the orders: %v", err)
	}
	for _, id := range d.sent {
		if !there[id] {
			return "order " + id + " was sent and is lost"
		}
	}
	return ""
}
