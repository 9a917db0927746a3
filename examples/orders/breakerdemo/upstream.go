package breakerdemo

import (
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// workTime is how long the upstream takes for an answer.
const workTime = 20 * time.Millisecond

// upstream is the service that the breaker guards.
type upstream struct {
	url     string
	server  *http.Server
	stopped chan struct{}
	reached atomic.Int64
	status  atomic.Int64
	held    atomic.Pointer[chan struct{}] // answers wait until it is closed
}

func startUpstream() (*upstream, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	u := &upstream{url: "http://" + l.Addr().String() + "/", stopped: make(chan struct{})}
	u.server = &http.Server{Handler: http.HandlerFunc(u.serve), ReadHeaderTimeout: time.Second}
	go func() {
		defer close(u.stopped)
		_ = u.server.Serve(l) // ends with stop
	}()
	return u, nil
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request) {
	u.reached.Add(1)
	select {
	case <-time.After(workTime):
	case <-r.Context().Done():
		return
	}
	if held := u.held.Load(); held != nil {
		select {
		case <-*held:
		case <-r.Context().Done():
			return
		}
	}
	w.WriteHeader(int(u.status.Load()))
}

// answer sets the status of all answers to come.
func (u *upstream) answer(status int) { u.status.Store(int64(status)) }

// hold keeps answers back until release is called.
func (u *upstream) hold() (release func()) {
	held := make(chan struct{})
	u.held.Store(&held)
	return once(func() { close(held) })
}

func (u *upstream) stop() {
	_ = u.server.Close()
	<-u.stopped
}
