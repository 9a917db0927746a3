package outbox

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// closingSender counts how often it was closed, and what was still under way.
type closingSender struct {
	running, closed, closedWhileRunning atomic.Int32
}

func (s *closingSender) Send(context.Context, *Delivery) Outcome {
	s.running.Add(1)
	defer s.running.Add(-1)
	return delivered()
}

func (s *closingSender) Close() error {
	s.closed.Add(1)
	s.closedWhileRunning.Add(s.running.Load())
	return errors.New("closing has failed; that is logged and no error of Run")
}

func TestRun_ClosesItsSendersAfterTheLastAttempt(t *testing.T) {
	store := newMemStore()
	store.put("", "billing")
	sender := &closingSender{}
	_, stop := start(t, store, Config{}, Destination{Name: "billing", Sender: sender})
	store.await(all(Published))
	if sender.closed.Load() != 0 {
		t.Error("closed while the dispatcher runs")
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if sender.closed.Load() != 1 || sender.closedWhileRunning.Load() != 0 {
		t.Errorf("closed %d times, with %d attempts under way", sender.closed.Load(), sender.closedWhileRunning.Load())
	}
}
