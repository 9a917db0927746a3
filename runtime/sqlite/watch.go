package sqlite

import (
	"context"
	"sync"
)

// watch tells of commits that may have made something claimable.
type watch struct {
	s      *Store
	noFile bool

	mu       sync.Mutex
	closed   bool
	channels map[chan struct{}]struct{}
	stopFile context.CancelFunc // nil until the first Watch
}

func newWatch(s *Store, noFile bool) *watch {
	return &watch{s: s, noFile: noFile, channels: make(map[chan struct{}]struct{})}
}

// signal wakes everybody who watches.
func (w *watch) signal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.channels {
		select {
		case c <- struct{}{}:
		default: // it holds one already
		}
	}
}

// Watch implements outbox.Store. Commits of this process are signalled when
// COMMIT has returned; those of other processes within milliseconds, by a watch
// of the folder.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	w := s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan struct{}, 1)
	if w.closed || ctx.Err() != nil {
		close(c)
		return c, ctx.Err()
	}
	if err := w.startFile(ctx); err != nil {
		return nil, explain("watch", s.path, err)
	}
	w.channels[c] = struct{}{}
	context.AfterFunc(ctx, func() { w.drop(c) })
	return c, nil
}

func (w *watch) drop(c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.channels[c]; ok {
		delete(w.channels, c)
		close(c)
	}
}

// startFile begins to watch the folder, once. The caller holds mu.
func (w *watch) startFile(ctx context.Context) error {
	if w.noFile || w.stopFile != nil {
		return nil
	}
	touched, stop, err := watchFile(w.s.path + "-wal")
	if err != nil {
		return err
	}
	f, err := newForeign(ctx, w.s.w, w.s.reads, touched, w.signal)
	if err != nil {
		stop()
		return err
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.stopFile = cancel
	w.s.tasks.Go(func() {
		defer stop()
		f.run(background)
	})
	return nil
}

func (w *watch) close() {
	w.mu.Lock()
	w.closed = true
	if w.stopFile != nil {
		w.stopFile()
	}
	for c := range w.channels {
		delete(w.channels, c)
		close(c)
	}
	w.mu.Unlock()
}
