package webhook

import (
	"net/http"
	"strconv"
	"time"
)

// MaxPause caps how long an endpoint can pause its destination.
const MaxPause = 24 * time.Hour

// retryAfter is the wait that a Retry-After header asks for (RFC 9110, section
// 10.2.3: seconds, or an HTTP date in any of its three forms), at most
// MaxPause. 0 means that there is none to obey: the header is missing or bad,
// or asks for no wait.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if value == "" {
		return 0
	}
	if wait, ok := delaySeconds(value); ok {
		return wait
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), MaxPause)
}

// delaySeconds reads one or more digits; nothing else is a delay.
func delaySeconds(s string) (wait time.Duration, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	seconds, err := strconv.ParseUint(s, 10, 64)
	if err != nil || seconds > uint64(MaxPause/time.Second) {
		return MaxPause, true
	}
	return time.Duration(seconds) * time.Second, true
}
