package generate

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes the plan's changes. Every new content is first written beside
// its place, under a name that the go command ignores; only when all of them
// are there do they take their places. So a full disk or a read-only folder
// changes nothing.
func (p Plan) Write() error {
	staged := make(map[string]string) // path → temporary path
	defer func() {
		for _, temporary := range staged {
			os.Remove(temporary)
		}
	}()
	for _, c := range p.Changes {
		if c.State == Stale {
			continue
		}
		temporary, err := stage(p.Path(c), c.content)
		if err != nil {
			return fmt.Errorf("cannot write %s: %w; nothing was written", p.Path(c), cause(err))
		}
		staged[p.Path(c)] = temporary
	}
	for path, temporary := range staged {
		if err := os.Rename(temporary, path); err != nil {
			return fmt.Errorf("cannot write %s: %w", path, cause(err))
		}
		delete(staged, path)
	}
	for _, c := range p.Changes {
		if c.State != Stale {
			continue
		}
		if err := os.Remove(p.Path(c)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove %s, which the spec no longer makes: %w", p.Path(c), cause(err))
		}
	}
	return nil
}

// cause is an error of package os without the path, which here is the
// temporary file's.
func cause(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	if link := (*os.LinkError)(nil); errors.As(err, &link) {
		return link.Err
	}
	return err
}

// stage writes content to a new file beside path and returns its name.
func stage(path string, content []byte) (temporary string, err error) {
	dir, base := filepath.Split(path)
	if err := os.MkdirAll(filepath.Clean(dir), 0o777); err != nil {
		return "", err
	}
	temporary = filepath.Join(dir, "."+base+"."+rand.Text()+".tmp")
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(temporary)
		return "", err
	}
	return temporary, nil
}
