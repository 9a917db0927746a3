package generate

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit"
)

// TestWrite_ReadOnlyFolder also holds for root, who may write everywhere: the
// writing thread takes the file rights of somebody else.
func TestWrite_ReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	plan := compare(t, dir, []emit.File{goFile("a.gen.go", "")})
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	err := asNobody(t, plan.Write)
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), filepath.Join(dir, "a.gen.go")) {
		t.Errorf("got %v, want an error of permission that names the file", err)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("the folder has %q, want nothing", got)
	}
}

func asNobody(t *testing.T, f func() error) error {
	t.Helper()
	if os.Geteuid() != 0 {
		return f()
	}
	const nobody = 65534
	result := make(chan error)
	go func() {
		// The thread keeps the foreign rights: it ends with this goroutine.
		runtime.LockOSThread()
		if err := syscall.Setfsuid(nobody); err != nil {
			result <- err
			return
		}
		result <- f()
	}()
	return <-result
}

// TestWrite_FullDisk writes to a file system that holds one of the files.
func TestWrite_FullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		if os.Getenv("OUTBOXGEN_REQUIRE_SERVICES") != "" && os.Geteuid() == 0 {
			t.Fatalf("cannot mount a small file system: %v", err)
		}
		t.Skipf("SKIPPED, needs the right to mount a small file system: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	old := string(goFile("", "type Old int\n").Content)
	put(t, dir, "a.gen.go", old)
	big := strings.Repeat("// "+strings.Repeat("x", 70)+"\n", 200)
	err := compare(t, dir, []emit.File{goFile("a.gen.go", "type A int\n"), goFile("b.gen.go", big)}).Write()
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), filepath.Join(dir, "b.gen.go")) {
		t.Errorf("got %v, want an error of the full disk that names the file", err)
	}
	if got, want := names(t, dir), []string{"a.gen.go"}; !slices.Equal(got, want) {
		t.Errorf("the folder has %q, want %q", got, want)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a.gen.go")); err != nil || string(got) != old {
		t.Errorf("a.gen.go was changed: %q, %v", got, err)
	}
}
