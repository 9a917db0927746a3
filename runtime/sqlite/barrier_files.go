package sqlite

import (
	"errors"
	"os"
	"runtime"
)

type osFiles struct{}

func (osFiles) Stat(path string) (os.FileInfo, error) {
	return os.Stat(path)
}

func (osFiles) Open(path string) (syncFile, error) {
	return os.OpenFile(path, os.O_RDWR, 0) // Windows syncs writable files only
}

// SyncFolder makes the folder's entries durable. Windows has nothing of the
// kind: its file systems journal them.
func (osFiles) SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
