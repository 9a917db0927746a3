package breaker

import (
	"strings"
	"testing"
)

// The wall clock plays no part: times are differences to an epoch that
// carries a monotonic reading, which time.Since prefers.
func TestSettings_EpochIsMonotonic(t *testing.T) {
	s, err := newSettings(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.epoch.String(), " m=") {
		t.Fatalf("epoch %v has no monotonic reading", s.epoch)
	}
}
