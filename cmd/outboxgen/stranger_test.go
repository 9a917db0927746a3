package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStranger makes a module outside this one, as somebody does who has only
// the README, and follows what init says until an event is applied.
func TestStranger(t *testing.T) {
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	goTool := func(args ...string) (output string, err error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := goTool(args...)
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}

	must("mod", "init", "example.org/shop")
	// What `go get -tool` does, for a version that is published nowhere.
	must("mod", "edit",
		"-require", "github.com/outboxgen/outboxgen@v0.0.0",
		"-replace", "github.com/outboxgen/outboxgen="+checkout,
		"-tool", "github.com/outboxgen/outboxgen/cmd/outboxgen")
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"init", "--example", "-C", dir}, nil, &stdout, &stderr); status != statusOK {
		t.Fatalf("init exits with %d: %s", status, &stderr)
	}
	if strings.Contains(stdout.String(), "go get") {
		t.Errorf("init asks for a tool that go.mod has already:\n%s", &stdout)
	}
	must("mod", "tidy")
	fresh := contents(t, dir)
	must("generate", "./...")
	if changed := differing(fresh, contents(t, dir)); len(changed) > 0 {
		t.Errorf("a second generation changed %q", changed)
	}
	must("vet", "./...")
	out := must("run", ".")
	if !strings.Contains(out, "inserted  order.created ") || !strings.Contains(out, "applied   order.created ") {
		t.Errorf("go run . does not tell of an event that was inserted and applied:\n%s", out)
	}

	must("tool", "outboxgen", "generate", "--check")
	edit(t, filepath.Join(dir, "events", "events.yaml"), "      note: string?", "      remark: string?")
	out, err = goTool("tool", "outboxgen", "generate", "--check")
	if err == nil || !strings.Contains(out, filepath.Join("events", "events.gen.go")) {
		t.Errorf("after an edit of the spec, generate --check gives %v:\n%s", err, out)
	}
	must("tool", "outboxgen", "generate")
	must("tool", "outboxgen", "generate", "--check")
	edit(t, filepath.Join(dir, "events", "insert.gen.go"), "package events", "package events // edited")
	out, err = goTool("tool", "outboxgen", "generate", "--check")
	if err == nil || !strings.Contains(out, filepath.Join("events", "insert.gen.go")) {
		t.Errorf("after an edit of a generated file, generate --check gives %v:\n%s", err, out)
	}
}

func edit(t *testing.T, path, old, new string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(old)) {
		t.Fatalf("%s has no %q", path, old)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(new), 1), 0o644); err != nil {
		t.Fatal(err)
	}
}

// contents are the texts of all files below dir.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func differing(a, b map[string]string) []string {
	var names []string
	for name := range a {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}
