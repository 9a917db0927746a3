package spec

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// checkUse warns of what is legal and dangerous.
func (l *loader) checkUse() {
	used := map[*Destination]bool{}
	for _, e := range l.spec.Events {
		for _, r := range e.To {
			used[r.Destination] = true
		}
		l.checkIdentity(e)
	}
	for _, d := range l.spec.Destinations {
		if !used[d] {
			l.warnf(d.Pos, ruleUnusedDestination, "name it in an event's to, or take it out", "no event goes to destination %q", d.Name)
			continue
		}
		if horizon := d.Retry.horizon(); horizon > l.spec.Retention {
			l.warnf(d.Pos, ruleShortRetention, fmt.Sprintf("set defaults.retention to %s or more", horizon.Truncate(time.Hour)+time.Hour),
				"destination %q may retry for %s, longer than the retention of %s: a duplicate that comes late is not recognised", d.Name, horizon, l.spec.Retention)
		}
	}
}

// horizon is the longest time that a delivery may wait between its attempts
// taken together: Full Jitter waits at most min(cap, base·2^(n−1)) after
// attempt n.
func (r Retry) horizon() time.Duration {
	total, wait := 0.0, float64(r.Base)
	attempts := r.MaxAttempts - 1
	for ; attempts > 0 && wait < float64(r.Cap); attempts-- {
		total += wait
		wait *= 2
	}
	total += float64(max(attempts, 0)) * float64(r.Cap)
	if total >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(total)
}

func (l *loader) checkIdentity(e *Event) {
	switch e.Idempotency.Mode {
	case "payload":
		if !slices.ContainsFunc(e.Fields, identifies) {
			l.warnf(e.Pos, rulePayloadIdentity, "name a field that tells them apart, or choose idempotency: event", "event %q is known by its payload, in which nothing tells two facts apart: the second of two equal ones is taken for a duplicate", e.Key())
		}
	case "fields":
		if len(e.Idempotency.Fields) > 0 && !slices.ContainsFunc(e.Idempotency.Fields, func(f *Field) bool { return !f.Optional && !f.Nullable }) {
			l.warnf(e.Pos, ruleOptionalIdentity, "name a field that is always there", "event %q is known by fields that may all be absent: two events without them are one", e.Key())
		}
	}
}

// identifies guesses whether a field's value differs from fact to fact.
func identifies(f *Field) bool {
	if f.Type == nil || f.Type.Scalar == UUID || f.Type.Scalar == Timestamp {
		return true
	}
	for _, w := range words(f.Name) {
		switch strings.ToLower(w) {
		case "id", "ids", "uuid", "guid", "key", "number", "no", "seq", "sequence", "ref", "reference", "sku", "serial", "sha", "hash", "digest":
			return true
		}
	}
	return false
}
