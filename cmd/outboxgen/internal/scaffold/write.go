package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write writes the files that are not there yet below dir and returns their
// names. A file that is there with other content is never overwritten: then
// nothing is written, and the error names all of them.
func Write(dir string, files []File) (written []string, err error) {
	var missing []File
	var inTheWay []string
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		current, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, f)
		case err != nil:
			return nil, err
		case !bytes.Equal(current, f.Content):
			inTheWay = append(inTheWay, path)
		}
	}
	if len(inTheWay) > 0 {
		return nil, fmt.Errorf("init never overwrites, and there is already: %s", strings.Join(inTheWay, ", "))
	}
	for _, f := range missing {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := create(path, f.Content); err != nil {
			for _, name := range written {
				os.Remove(filepath.Join(dir, filepath.FromSlash(name)))
			}
			return nil, err
		}
		written = append(written, f.Name)
	}
	return written, nil
}

// create writes a file that must not be there.
func create(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(path)
	}
	return err
}

// OtherGoFiles names the Go files of dir, tests apart, that are not among
// files: beside them a main.go would not build.
func OtherGoFiles(dir string, files []File) ([]string, error) {
	ours := make(map[string]bool, len(files))
	for _, f := range files {
		ours[f.Name] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !ours[name] {
			others = append(others, name)
		}
	}
	return others, nil
}
