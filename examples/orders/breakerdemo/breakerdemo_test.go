package breakerdemo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
)

func TestRun_FivePhases(t *testing.T) {
	var out bytes.Buffer
	if err := Run(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	var transitions, phases []string
	var rejected float64
	for line := range bytes.Lines(out.Bytes()) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if m["timestamp"] == nil || m["message"] == nil {
			t.Errorf("line %q: no timestamp or message", line)
		}
		event, _ := m["event"].(string)
		switch {
		case event == "call_rejected_circuit_open":
			rejected += m["rejected_calls"].(float64)
		case event != "":
			transitions = append(transitions, event)
		case m["phase"] != nil:
			phases = append(phases, m["name"].(string))
		}
	}
	wantTransitions := []string{"state_transition_closed_to_open", "state_transition_open_to_half_open", "state_transition_half_open_to_closed"}
	if !slices.Equal(transitions, wantTransitions) {
		t.Errorf("transitions %v, want %v", transitions, wantTransitions)
	}
	if want := []string{"closed", "failing to open", "fail-fast", "half-open probing", "closed again"}; !slices.Equal(phases, want) {
		t.Errorf("phases %v, want %v", phases, want)
	}
	if want := float64(callers - 1 + refusals + callers - probes); rejected != want {
		t.Errorf("the events tell of %v refusals, want %v", rejected, want)
	}
}

func TestRun_EndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Fatalf("Run: %v", err)
	}
}
