package breaker_test

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
)

func newRegistry(t testing.TB, c breaker.Config, limit int) *breaker.Registry {
	t.Helper()
	r, err := breaker.NewRegistry(c, limit)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func get(t testing.TB, r *breaker.Registry, name string) *breaker.Breaker {
	t.Helper()
	b, err := r.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	if b.Name() != name {
		t.Fatalf("got %q for %q", b.Name(), name)
	}
	return b
}

func TestRegistry_OneInstanceAName(t *testing.T) {
	for range rounds() / 10 {
		r := newRegistry(t, breaker.Config{}, 0)
		var mu sync.Mutex
		seen := map[*breaker.Breaker]bool{}
		crowd(16, func() {
			b := get(t, r, "billing")
			mu.Lock()
			defer mu.Unlock()
			seen[b] = true
		})
		if len(seen) != 1 || r.Len() != 1 {
			t.Fatalf("%d instances, %d held", len(seen), r.Len())
		}
	}
}

func TestRegistry_BoundedAndKeepsWhatMatters(t *testing.T) {
	clock := new(fakeClock)
	r := newRegistry(t, breaker.Config{Now: clock.Now}, 100)
	open, failing, forced, disabled, probing, grown := get(t, r, "open"), get(t, r, "failing"), get(t, r, "forced"),
		get(t, r, "disabled"), get(t, r, "probing"), get(t, r, "grown")
	for _, b := range []*breaker.Breaker{probing, grown} {
		report(t, b, breaker.Failure, 3)
	}
	clock.Advance(10 * time.Second)
	acquire(t, probing)
	report(t, grown, breaker.Failure, 1)
	clock.Advance(20 * time.Second)
	report(t, grown, breaker.Success, 2)
	report(t, open, breaker.Failure, 3)
	report(t, failing, breaker.Failure, 1)
	forced.ForceOpen()
	disabled.Disable()
	for i := range 100_000 {
		get(t, r, fmt.Sprint("host", i))
	}
	if n := r.Len(); n != 100 {
		t.Fatalf("%d breakers, want the limit of 100", n)
	}
	for name, want := range map[string]*breaker.Breaker{"open": open, "failing": failing, "forced": forced,
		"disabled": disabled, "probing": probing, "grown": grown} {
		if get(t, r, name) != want {
			t.Errorf("%q was dropped", name)
		}
	}
	if n := r.Counts().Dropped; n != 100_000-94 {
		t.Errorf("%d dropped", n)
	}
}

func TestRegistry_KeepsWindowsWithFailures(t *testing.T) {
	clock := new(fakeClock)
	r := newRegistry(t, breaker.Config{Now: clock.Now, Window: breaker.Window{Width: time.Minute}}, 2)
	failing := get(t, r, "failing")
	report(t, failing, breaker.Failure, 1)
	report(t, failing, breaker.Success, 1)
	for i := range 10 {
		get(t, r, fmt.Sprint("host", i))
	}
	if get(t, r, "failing") != failing {
		t.Fatal("dropped with a failure in its window")
	}
	clock.Advance(time.Minute) // the failure has left the window
	for i := range 10 {
		get(t, r, fmt.Sprint("host", i))
	}
	if get(t, r, "failing") == failing {
		t.Fatal("kept although it is as good as new")
	}
}

func TestRegistry_DropsTheUnusedFirst(t *testing.T) {
	r := newRegistry(t, breaker.Config{}, 10)
	used := get(t, r, "used")
	for i := range 1000 {
		get(t, r, fmt.Sprint("host", i))
		if get(t, r, "used") != used {
			t.Fatalf("dropped while in use, after %d names", i)
		}
	}
}

func TestRegistry_Full(t *testing.T) {
	r := newRegistry(t, breaker.Config{}, 3)
	for i := range 3 {
		report(t, get(t, r, fmt.Sprint("host", i)), breaker.Failure, 3)
	}
	_, err := r.Get("one more")
	if !errors.Is(err, breaker.ErrRegistryFull) {
		t.Fatalf("Get: %v", err)
	}
	if want := `breaker: registry full: no place for "one more" among 3 breakers that are all open or failing`; err.Error() != want {
		t.Fatalf("says %q", err)
	}
	if r.Counts().Refused != 1 {
		t.Fatalf("counts %+v", r.Counts())
	}
	r.Remove("host1")
	r.Remove("no such")
	get(t, r, "one more")
	if r.Len() != 3 {
		t.Fatalf("%d breakers", r.Len())
	}
	names := map[string]bool{}
	for b := range r.All() {
		names[b.Name()] = true
	}
	if len(names) != 3 || names["host1"] || !names["one more"] {
		t.Fatalf("names %v", names)
	}
	for range r.All() {
		break
	}
}

func TestRegistry_RemoveTheLast(t *testing.T) {
	r := newRegistry(t, breaker.Config{}, 1)
	for i := range 5 {
		name := fmt.Sprint(i)
		get(t, r, name)
		r.Remove(name)
	}
	if r.Len() != 0 {
		t.Fatalf("%d breakers", r.Len())
	}
}

func TestRegistry_ConcurrentChurn(t *testing.T) {
	r := newRegistry(t, breaker.Config{}, 8)
	crowd(8, func() {
		for i := range 2000 {
			name := fmt.Sprint(i % 20)
			get(t, r, name)
			if i%50 == 0 {
				r.Remove(name)
			}
		}
	})
	n := 0
	for range r.All() {
		n++
	}
	if n != r.Len() || n > 8 {
		t.Fatalf("%d breakers in the map, %d in the ring, limit 8", n, r.Len())
	}
}

func TestRegistry_100000Names(t *testing.T) {
	if raceEnabled {
		t.Skip("measures memory")
	}
	const names = 100_000
	r := newRegistry(t, breaker.Config{Logger: slog.New(slog.DiscardHandler)}, names)
	all := make([]string, names)
	for i := range all {
		all[i] = fmt.Sprintf("host-%d.example.org:443", i)
	}
	goroutines := runtime.NumGoroutine()
	before := heap()
	for _, name := range all {
		b, err := r.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.TryAcquire()
		if err != nil {
			t.Fatal(err)
		}
		p.Done(breaker.Success)
	}
	each := (heap() - before) / names
	t.Logf("%d bytes a breaker, with its place in the registry", each)
	if each > 512 {
		t.Errorf("%d bytes a breaker, want at most 512", each)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines more", n-goroutines)
	}
	runtime.KeepAlive(all)
	runtime.KeepAlive(r)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
