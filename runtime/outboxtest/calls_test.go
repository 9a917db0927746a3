package outboxtest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outboxtest"
)

func TestCalls_AnswersInOrderAndRemembersAll(t *testing.T) {
	fault := errors.New("card refused")
	var calls outboxtest.Calls[string]
	calls.FailNext(fault, nil, fault)
	var failed []bool
	for _, e := range []string{"a", "b", "c", "d"} {
		failed = append(failed, calls.Call(e) == fault)
	}
	if !slices.Equal(failed, []bool{true, false, true, false}) {
		t.Errorf("failures were %v", failed)
	}
	if got := calls.All(); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("calls were %v", got)
	}
}

func TestCalls_WaitSeesCallsOfOtherGoroutines(t *testing.T) {
	var calls outboxtest.Calls[int]
	for i := range 10 {
		go func() { _ = calls.Call(i) }()
	}
	got, err := calls.Wait(bounded(t), 10)
	if err != nil || len(got) != 10 {
		t.Errorf("Wait = %v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := calls.Wait(ctx, 11); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait for more = %v, want context.Canceled", err)
	}
}

func TestClock_MovesWhenTold(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := outboxtest.NewClock(start)
	for range 2 {
		if !clock.Now().Equal(start) {
			t.Error("the clock does not stand still")
		}
	}
	clock.Advance(time.Hour)
	clock.Advance(-time.Minute)
	if got := clock.Now().Sub(start); got != 59*time.Minute {
		t.Errorf("the clock moved by %v", got)
	}
}
