package emit_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit"
)

// consumer is a module of its own in a temporary folder that uses this one.
type consumer struct{ dir string }

// repository is the root of this module.
const repository = "../../../.."

func newConsumer(t testing.TB) consumer {
	t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	c := consumer{t.TempDir()}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		c.write(t, name, content)
	}
	const module = "github.com/outboxgen/outboxgen"
	c.run(t, "go", "mod", "edit", "-module=example.org/consumer", "-require="+module+"@v0.0.0", "-replace="+module+"="+root)
	return c
}

func (c consumer) write(t testing.TB, name string, content []byte) {
	t.Helper()
	path := filepath.Join(c.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// generate writes what is generated for a spec into a folder.
func (c consumer) generate(t testing.TB, folder string, fs []emit.File) {
	t.Helper()
	for _, f := range fs {
		c.write(t, folder+"/"+f.Name, f.Content)
	}
}

// run runs a command in the module and fails the test unless it succeeds.
func (c consumer) run(t testing.TB, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out.String())
	}
	t.Logf("%s %s: %v", filepath.Base(name), strings.Join(args, " "), time.Since(start).Round(100*time.Millisecond))
	return out.String()
}
