package scaffold

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
)

// command is the import path that `go tool` needs in a user's go.mod.
const command = "github.com/outboxgen/outboxgen/cmd/outboxgen"

// Module is what init has to know of the module that a folder belongs to.
type Module struct {
	// ImportPath is the folder's, not the module's.
	ImportPath string
	// HasTool says that go.mod names outboxgen as a tool.
	HasTool bool
}

// ErrNoModule is the answer for a folder in no Go module.
var ErrNoModule = errors.New("not in a Go module")

// FindModule looks for the go.mod of dir and its parents, and lets the go
// command read it.
func FindModule(ctx context.Context, dir string) (Module, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Module{}, err
	}
	if _, err := os.Stat(dir); err != nil {
		return Module{}, err
	}
	for root := dir; ; root = filepath.Dir(root) {
		file := filepath.Join(root, "go.mod")
		switch _, err := os.Stat(file); {
		case err == nil:
			rest, err := filepath.Rel(root, dir)
			if err != nil {
				return Module{}, err
			}
			return readModule(ctx, file, filepath.ToSlash(rest))
		case !errors.Is(err, fs.ErrNotExist):
			return Module{}, err
		case root == filepath.Dir(root):
			return Module{}, ErrNoModule
		}
	}
}

func readModule(ctx context.Context, file, rest string) (Module, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "mod", "edit", "-json", file)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return Module{}, fmt.Errorf("go mod edit -json %s: %w\n%s", file, err, &stderr)
	}
	var mod struct {
		Module struct{ Path string }
		Tool   []struct{ Path string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return Module{}, fmt.Errorf("go mod edit -json %s: %w", file, err)
	}
	if mod.Module.Path == "" {
		return Module{}, fmt.Errorf("%s names no module", file)
	}
	return Module{
		ImportPath: path.Join(mod.Module.Path, rest),
		HasTool:    slices.ContainsFunc(mod.Tool, func(t struct{ Path string }) bool { return t.Path == command }),
	}, nil
}
