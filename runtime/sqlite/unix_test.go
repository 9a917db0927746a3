//go:build unix

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func init() {
	children["open-kind"] = childOpenKind
	children["file-limit"] = childFileLimit
}

func TestOpen_FilesAreTheirOwnersOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openStore(t, path, Options{})
	insert(t, s, record(1, "", "a"))
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(name), info.Mode().Perm())
		}
	}
}

func TestOpen_FolderOrFileCannotBeWritten(t *testing.T) {
	dir, err := os.MkdirTemp("", "outboxgen") // t.TempDir() cannot be entered by others
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), filepath.Join(dir, "there.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "there.db"), 0o444); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"new.db", "there.db"} {
		got := output(t, child(t, "open-kind", filepath.Join(dir, name)))
		if !strings.Contains(got, "read-only: true") || strings.Count(got, "sqlite: ") != 1 || !strings.Contains(got, "must be writable") {
			t.Errorf("opening %s: %s", name, got)
		}
	}
}

// childOpenKind drops root's power to write everywhere, so that permissions
// count.
func childOpenKind(ctx context.Context, args []string) error {
	if os.Geteuid() == 0 {
		if err := errors.Join(syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
			return err
		}
	}
	_, err := Open(ctx, args[0], Options{})
	fmt.Printf("read-only: %v, %v\n", errors.Is(err, ErrReadOnly), err)
	return nil
}

// A file system that takes no more bytes, in a process of its own.
func TestFaults_FileSizeLimit(t *testing.T) {
	got := output(t, child(t, "file-limit", filepath.Join(t.TempDir(), "shop.db")))
	if !strings.Contains(got, "ok") {
		t.Error(got)
	}
}

func childFileLimit(ctx context.Context, args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := Open(ctx, args[0], Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	n := 0
	put := func() error {
		return s.InTx(ctx, func(tx *sql.Tx) error {
			_, err := s.Insert(ctx, tx, record(n, "k", "a"))
			return err
		})
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: before.Max}); err != nil {
		return err
	}
	for err == nil && n < 100_000 {
		if err = put(); err == nil {
			n++
		}
	}
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrFull) && !errors.Is(err, ErrIO) {
		return fmt.Errorf("after %d events the error is %w", n, err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		return err
	}
	if err := put(); err != nil {
		return fmt.Errorf("when there was space again: %w", err)
	}
	c, err := s.Claim(ctx, want("a", 200_000))
	if err != nil {
		return err
	}
	if len(c.Deliveries) != n+1 {
		return fmt.Errorf("%d of %d events are there", len(c.Deliveries), n+1)
	}
	fmt.Println("ok", n)
	return nil
}
