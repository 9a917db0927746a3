// Package breakerdemo takes a circuit breaker through its five phases in
// front of a real HTTP server on the loopback interface, and checks each.
package breakerdemo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

const (
	threshold    = 3
	probes       = 2
	callers      = 50
	refusals     = 200
	recoveryTime = time.Second
)

// Run writes JSON lines to w: the breaker's events, and one line a phase. It
// returns an error when anything is not as it should be.
func Run(ctx context.Context, w io.Writer) error {
	log := slog.New(outbox.NewJSONLog(w, slog.LevelInfo))
	up, err := startUpstream()
	if err != nil {
		return err
	}
	defer up.stop()
	b, err := breaker.New(breaker.Config{
		Name:             "upstream",
		FailureThreshold: threshold,
		HalfOpenMaxCalls: probes,
		RecoveryTime:     recoveryTime,
		Logger:           log,
	})
	if err != nil {
		return err
	}
	base := &http.Transport{MaxIdleConnsPerHost: callers}
	defer base.CloseIdleConnections()
	d := &demo{
		log: log, upstream: up, breaker: b,
		client: &http.Client{Transport: &breaker.Transport{Base: base, Breaker: b}, Timeout: 10 * time.Second},
	}
	phases := []struct {
		name string
		run  func(context.Context) (tally, error)
	}{
		{"closed", d.closed},
		{"failing to open", d.failing},
		{"fail-fast", d.failFast},
		{"half-open probing", d.probing},
		{"closed again", d.closed},
	}
	for i, p := range phases {
		t, err := p.run(ctx)
		if err := errors.Join(err, b.Flush(ctx)); err != nil {
			return fmt.Errorf("phase %d, %s: %w", i+1, p.name, err)
		}
		log.Info("phase is over", "phase", i+1, "name", p.name, "state", b.State().String(), "calls", t.calls(),
			"answered", t.answered, "failed", t.failed, "refused", t.refused, "reached_upstream", t.reached,
			"mean_latency_ms", milliseconds(t.mean()))
	}
	log.Info("a refusal is faster than the upstream", "upstream_ms", milliseconds(d.answer), "refusal_ms", milliseconds(d.refusal),
		"times", float64(d.answer)/float64(d.refusal))
	if d.refusal >= d.answer {
		return fmt.Errorf("a refusal takes %v, the upstream's answer %v: not fast", d.refusal, d.answer)
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

type demo struct {
	log      *slog.Logger
	upstream *upstream
	breaker  *breaker.Breaker
	client   *http.Client

	answer, refusal time.Duration // mean latencies
}

// closed: calls go through.
func (d *demo) closed(ctx context.Context) (tally, error) {
	d.upstream.answer(http.StatusOK)
	t, err := d.calls(ctx, 5)
	d.answer = t.mean()
	return t, errors.Join(err,
		t.want(tally{answered: 5, reached: 5}),
		d.wantState(breaker.Closed))
}

// failing: two calls fail one after another; then fifty come at once, and one
// more failure is all that it takes, and all that the upstream sees.
func (d *demo) failing(ctx context.Context) (tally, error) {
	d.upstream.answer(http.StatusServiceUnavailable)
	t, err := d.calls(ctx, threshold-1)
	if err := errors.Join(err, t.want(tally{failed: threshold - 1, reached: threshold - 1})); err != nil {
		return t, err
	}
	edge, err := d.crowd(ctx, nil)
	return t.plus(edge), errors.Join(err,
		edge.want(tally{failed: 1, refused: callers - 1, reached: 1}),
		d.wantState(breaker.Open))
}

// failFast: nothing reaches the upstream.
func (d *demo) failFast(ctx context.Context) (tally, error) {
	t, err := d.calls(ctx, refusals)
	d.refusal = t.mean()
	return t, errors.Join(err,
		t.want(tally{refused: refusals}),
		d.wantState(breaker.Open))
}

// probing: the upstream works again; of fifty callers two may find out.
func (d *demo) probing(ctx context.Context) (tally, error) {
	d.upstream.answer(http.StatusOK)
	select {
	case <-time.After(d.breaker.RetryIn()):
	case <-ctx.Done():
		return tally{}, ctx.Err()
	}
	release := d.upstream.hold() // until all others are refused
	defer release()
	t, err := d.crowd(ctx, release)
	return t, errors.Join(err,
		t.want(tally{answered: probes, refused: callers - probes, reached: probes}),
		d.wantState(breaker.Closed))
}

func (d *demo) wantState(want breaker.State) error {
	if got := d.breaker.State(); got != want {
		return fmt.Errorf("the breaker is %v, want %v", got, want)
	}
	return nil
}

// calls makes n calls one after another.
func (d *demo) calls(ctx context.Context, n int) (tally, error) {
	var t tally
	before := d.upstream.reached.Load()
	for range n {
		if err := d.call(ctx, &t); err != nil {
			return t, err
		}
	}
	t.reached = int(d.upstream.reached.Load() - before)
	return t, nil
}

// crowd makes the calls of all callers at once, and calls release, if any,
// when no more than the probes are left.
func (d *demo) crowd(ctx context.Context, release func()) (tally, error) {
	var (
		mu    sync.Mutex
		total tally
		errs  []error
		wg    sync.WaitGroup
	)
	before := d.upstream.reached.Load()
	for range callers {
		wg.Go(func() {
			var t tally
			err := d.call(ctx, &t)
			mu.Lock()
			defer mu.Unlock()
			total, errs = total.plus(t), append(errs, err)
			if release != nil && total.refused == callers-probes {
				release()
			}
		})
	}
	wg.Wait()
	total.reached = int(d.upstream.reached.Load() - before)
	return total, errors.Join(errs...)
}

// call makes one call and counts how it ended.
func (d *demo) call(ctx context.Context, t *tally) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.upstream.url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	start := time.Now()
	resp, err := d.client.Do(req)
	t.latency += time.Since(start)
	switch {
	case errors.Is(err, breaker.ErrOpen):
		t.refused++
		return nil
	case err != nil:
		return err
	case resp.StatusCode == http.StatusOK:
		t.answered++
	default:
		t.failed++
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// tally counts calls by how they ended.
type tally struct {
	answered, failed, refused int
	reached                   int // requests that the upstream saw
	latency                   time.Duration
}

func (t tally) calls() int { return t.answered + t.failed + t.refused }

func (t tally) mean() time.Duration { return t.latency / time.Duration(max(1, t.calls())) }

func (t tally) plus(u tally) tally {
	return tally{t.answered + u.answered, t.failed + u.failed, t.refused + u.refused, t.reached + u.reached, t.latency + u.latency}
}

// want compares all but the latency.
func (t tally) want(want tally) error {
	t.latency = 0
	if t != want {
		return fmt.Errorf("%d answered, %d failed, %d refused, %d reached the upstream; want %d, %d, %d, %d",
			t.answered, t.failed, t.refused, t.reached, want.answered, want.failed, want.refused, want.reached)
	}
	return nil
}

// once makes f harmless to call again.
func once(f func()) func() {
	var done atomic.Bool
	return func() {
		if !done.Swap(true) {
			f()
		}
	}
}
