package breaker

import "time"

// slots are the leases of calls whose number is bounded: probes, and calls at
// the trip edge. The breaker's lock guards them.
type slots struct {
	held []slot
	next time.Duration // the earliest end among held; meaningless when empty
}

type slot struct {
	token   uint64 // never 0
	expires time.Duration
}

// take grants a slot to token when fewer than limit are held. It returns how
// many expired leases it took back to find room.
func (s *slots) take(token uint64, now, lease time.Duration, limit int) (granted bool, expired int) {
	if len(s.held) >= limit {
		expired = s.expire(now)
	}
	if len(s.held) >= limit {
		return false, expired
	}
	end := saturatingAdd(now, lease)
	if len(s.held) == 0 || end < s.next {
		s.next = end
	}
	s.held = append(s.held, slot{token, end})
	return true, expired
}

// release gives the token's slot back and reports whether its lease ran.
func (s *slots) release(token uint64, now time.Duration) bool {
	for i := range s.held {
		if s.held[i].token == token {
			running := now < s.held[i].expires
			s.remove(i)
			return running
		}
	}
	return false
}

func (s *slots) expire(now time.Duration) (n int) {
	if len(s.held) == 0 || now < s.next {
		return 0
	}
	for i := len(s.held) - 1; i >= 0; i-- {
		if s.held[i].expires <= now {
			s.remove(i)
			n++
		}
	}
	return n
}

// earliest is the time until the first running lease ends.
func (s *slots) earliest(now time.Duration) time.Duration {
	first := forever
	for i := range s.held {
		if left := s.held[i].expires - now; left > 0 {
			first = min(first, left)
		}
	}
	return first
}

// live is how many leases still run at now.
func (s *slots) live(now time.Duration) (n int) {
	for i := range s.held {
		if s.held[i].expires > now {
			n++
		}
	}
	return n
}

func (s *slots) remove(i int) {
	last := len(s.held) - 1
	s.held[i] = s.held[last]
	s.held = s.held[:last]
	for j := range s.held {
		if j == 0 || s.held[j].expires < s.next {
			s.next = s.held[j].expires
		}
	}
}

func saturatingAdd(a, b time.Duration) time.Duration {
	if a > forever-b {
		return forever
	}
	return a + b
}
