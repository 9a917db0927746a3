//go:build !linux && !windows

package sqlite

import "time"

// pollEvery is how often the database is asked for other processes' commits
// where the folder cannot be watched safely (see watch_file.go).
const pollEvery = 25 * time.Millisecond

func watchFile(string) (<-chan struct{}, func(), error) {
	touched := make(chan struct{}, 1)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			select {
			case touched <- struct{}{}:
			default:
			}
		}
	}()
	return touched, func() { close(stop); <-ended }, nil
}
