package redisbreaker_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/redisbreaker"
)

// proxy stands between the client and Redis and can cut or stall the way.
type proxy struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu      sync.Mutex
	gate    chan struct{} // open when data passes
	refuses bool
	conns   map[net.Conn]bool
}

func newProxy(t *testing.T) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, gate: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(p.gate)
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.restore()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", address())
		if err != nil || !p.add(c, server) {
			_ = c.Close()
			continue
		}
		p.wg.Go(func() { p.pass(server, c) })
		p.wg.Go(func() { p.pass(c, server) })
	}
}

func (p *proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = true
		if p.refuses {
			_ = c.Close()
		}
	}
	return !p.refuses
}

func (p *proxy) pass(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		gate := p.gate
		p.mu.Unlock()
		<-gate
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cut ends all connections; while cut, new ones end at once.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = true
	for c := range p.conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// stall keeps connections, and lets nothing pass.
func (p *proxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

func (p *proxy) restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = false
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) count(event string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.buf.String(), `"event":"`+event+`"`)
}

// A store that is down, or that keeps calls waiting for ever, leaves the
// local breaker to decide; when it is back, the fleet is asked again.
func TestStore_LocalFallbackAndRecovery(t *testing.T) {
	for name, breakIt := range map[string]func(*proxy){"down": (*proxy).cut, "slow": (*proxy).stall} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			way := newProxy(t)
			client := newClient(way.listener.Addr().String())
			t.Cleanup(func() { _ = client.Close() })
			var log syncBuffer
			b := f.member(redisbreaker.Config{
				Client: client, Budget: 200 * time.Millisecond, StorePause: time.Millisecond,
				Breaker: breaker.Config{RecoveryTime: time.Hour, Logger: slog.New(slog.NewJSONHandler(&log, nil))},
			})
			for f.hash()["failures"] != "1" { // the store may be late on a busy machine
				report(t, b, breaker.Failure, 1)
				report(t, b, breaker.Success, 1)
				report(t, b, breaker.Failure, 1)
			}
			report(t, b, breaker.Success, 1)
			episodes := log.count("store_unavailable")

			breakIt(way)
			report(t, b, breaker.Success, 5) // admitted by the local breaker
			report(t, b, breaker.Failure, 2)
			p := acquire(t, b)
			if _, err := b.TryAcquire(); !errors.Is(err, breaker.ErrOpen) {
				t.Fatalf("beyond the local trip edge: %v", err)
			}
			p.Done(breaker.Failure)
			if b.State() != breaker.Open {
				t.Fatalf("%v after three failures, want the local breaker's OPEN", b.State())
			}
			if n := log.count("store_unavailable"); n != episodes+1 {
				t.Fatalf("%d store_unavailable events in one episode", n-episodes)
			}
			if _, err := b.TryAcquire(); !errors.Is(err, breaker.ErrOpen) {
				t.Fatalf("local OPEN: %v", err)
			}

			way.restore()
			b.Local().Reset()
			for log.count("store_available") < episodes+1 {
				report(t, b, breaker.Success, 1)
			}
		})
	}
}

func TestStore_NeverReachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client := newClient(l.Addr().String())
	t.Cleanup(func() { _ = client.Close() })
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := redisbreaker.New(redisbreaker.Config{Client: client, Breaker: breaker.Config{Name: "billing"}})
	if err != nil {
		t.Fatal(err)
	}
	report(t, b, breaker.Failure, 3)
	if b.State() != breaker.Open {
		t.Fatalf("%v, want the local breaker to work alone", b.State())
	}
}

// A key that is not ours is a fault of the store, not a crash.
func TestStore_ForeignKey(t *testing.T) {
	f := newFleet(t)
	if err := f.redis.Set(t.Context(), f.prefix+"billing", "not a hash", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	var log syncBuffer
	b := f.member(redisbreaker.Config{Breaker: breaker.Config{Logger: slog.New(slog.NewJSONHandler(&log, nil))}})
	report(t, b, breaker.Failure, 3)
	if b.State() != breaker.Open || log.count("store_unavailable") != 1 {
		t.Fatalf("%v, %d events", b.State(), log.count("store_unavailable"))
	}
}

func TestNew_ListsEveryFault(t *testing.T) {
	deaf := redis.NewClient(&redis.Options{Addr: address()})
	t.Cleanup(func() { _ = deaf.Close() })
	_, err := redisbreaker.New(redisbreaker.Config{
		Client: deaf, Budget: -1, StorePause: -1,
		Breaker: breaker.Config{Window: breaker.Window{Calls: 10}, Lease: -1},
	})
	want := []string{
		`redisbreaker "": Breaker.Name is empty: it names the circuit that the fleet shares`,
		`redisbreaker "": Breaker.Window is set: rates are not shared, use FailureThreshold`,
		`redisbreaker "": Client ignores deadlines: set its option ContextTimeoutEnabled`,
		`redisbreaker "": Budget is -1ns: want more than 0, or 0 for the default`,
		`redisbreaker "": StorePause is -1ns: want more than 0, or 0 for the default`,
		`breaker "": Lease is -1ns: want more than 0, or 0 for the default`,
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("New:\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
	if _, err := redisbreaker.New(redisbreaker.Config{Breaker: breaker.Config{Name: "x"}}); err == nil || !strings.Contains(err.Error(), "Client is nil") {
		t.Errorf("New: %v", err)
	}
	for _, deaf := range []redis.UniversalClient{
		redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{address()}}),
		redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": address()}}),
	} {
		if _, err := redisbreaker.New(redisbreaker.Config{Client: deaf, Breaker: breaker.Config{Name: "x"}}); err == nil || !strings.Contains(err.Error(), "ContextTimeoutEnabled") {
			t.Errorf("New with %T: %v", deaf, err)
		}
		_ = deaf.Close()
	}
}
