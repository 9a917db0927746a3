//go:build linux || windows

package sqlite

import (
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// touchPause is how long writes are left to gather after one has been
// signalled: the kernel merges them while nobody reads. The re-checks that a
// touch begins run meanwhile.
const touchPause = time.Millisecond

// watchFile signals writes to the file. It watches the folder: a watch of the
// file would die with it.
//
// Not on kqueue systems: there fsnotify opens every file of a folder that it
// watches, and closing the database file drops SQLite's locks on it.
func watchFile(path string) (<-chan struct{}, func(), error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, nil, err
	}
	if err := w.Add(filepath.Dir(path)); err != nil {
		w.Close()
		return nil, nil, err
	}
	touched := make(chan struct{}, 1)
	go func() {
		defer close(touched)
		for {
			select {
			case e, open := <-w.Events:
				if !open {
					return
				}
				if filepath.Base(e.Name) != filepath.Base(path) {
					continue
				}
			case _, open := <-w.Errors: // the queue ran over: something was written
				if !open {
					return
				}
			}
			select {
			case touched <- struct{}{}:
			default:
			}
			time.Sleep(touchPause)
		}
	}()
	return touched, func() {
		w.Close()
		for range touched { // until the goroutine has ended
		}
	}, nil
}
