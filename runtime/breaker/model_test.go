package breaker_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"pgregory.net/rapid"
)

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, n)) }

// model is the breaker's definition without locks, leases' order, or speed.
type model struct {
	c                   breaker.Config
	now, until, closed  time.Duration
	state               breaker.State
	forced, disabled    bool
	generation          int
	failures, successes int
	level               int
	leases              map[int]time.Duration // of calls that hold a slot
}

func (m *model) become(s breaker.State) {
	m.state, m.generation, m.forced, m.disabled = s, m.generation+1, false, false
	m.failures, m.successes, m.leases = 0, 0, map[int]time.Duration{}
	if s == breaker.Closed {
		m.closed = m.now
	}
}

func (m *model) recovery() time.Duration {
	return min(m.c.MaxRecoveryTime, m.c.RecoveryTime<<m.level)
}

func (m *model) open() {
	m.become(breaker.Open)
	m.until = m.now + m.recovery()
}

func (m *model) decay() {
	for at := m.closed; m.level > 0 && m.now-at >= m.recovery(); m.level-- {
		at += m.recovery()
	}
}

func (m *model) seen() breaker.State {
	if m.state == breaker.Open && !m.forced && m.now >= m.until {
		return breaker.HalfOpen
	}
	return m.state
}

func (m *model) room() int {
	limit := math.MaxInt
	switch {
	case m.seen() == breaker.Open:
		return 0
	case m.state == breaker.Open:
		return m.c.HalfOpenMaxCalls
	case m.state == breaker.HalfOpen:
		limit = m.c.HalfOpenMaxCalls - m.successes
	case m.failures > 0:
		limit = m.c.FailureThreshold - m.failures
	default:
		return limit
	}
	for _, end := range m.leases {
		if end > m.now {
			limit--
		}
	}
	return max(0, limit)
}

func (m *model) acquire(id int) (admitted bool) {
	if m.room() == 0 {
		return false
	}
	if m.state == breaker.Open {
		m.become(breaker.HalfOpen)
	}
	if m.room() != math.MaxInt {
		m.leases[id] = m.now + m.c.Lease
	}
	return true
}

func (m *model) done(id, generation int, o breaker.Outcome) {
	held := m.leases[id] > m.now
	if generation != m.generation || m.state == breaker.HalfOpen && !held {
		return
	}
	delete(m.leases, id)
	switch {
	case o == breaker.Neutral || m.disabled:
	case m.state == breaker.HalfOpen && o == breaker.Failure:
		if m.recovery() < m.c.MaxRecoveryTime {
			m.level++
		}
		m.open()
	case m.state == breaker.HalfOpen:
		if m.successes++; m.successes == m.c.HalfOpenMaxCalls {
			m.become(breaker.Closed)
		}
	case o == breaker.Success:
		m.failures = 0
	default:
		if m.failures++; m.failures == m.c.FailureThreshold {
			m.decay()
			m.open()
		}
	}
}

// step is one operation: what, and a number that it uses as it likes.
type step struct{ op, n byte }

type modelled struct {
	permit         breaker.Permit
	id, generation int
}

// against runs the steps on a breaker and on the model side by side.
func against(c breaker.Config, steps []step) error {
	clock := new(fakeClock)
	c.Now = clock.Now
	b, err := breaker.New(c)
	if err != nil {
		return err
	}
	m := &model{c: c}
	m.become(breaker.Closed)
	var calls []modelled
	for i, s := range steps {
		switch s.op % 16 {
		case 0, 1, 2, 3, 4:
			p, err := b.TryAcquire()
			if admitted := m.acquire(i); admitted != (err == nil) {
				return fmt.Errorf("step %d: TryAcquire: %v, want admitted %v", i, err, admitted)
			}
			if err == nil {
				calls = append(calls, modelled{p, i, m.generation})
			}
		case 5, 6, 7, 8, 9, 10:
			if len(calls) == 0 {
				continue
			}
			k := int(s.n) % len(calls)
			o := []breaker.Outcome{breaker.Success, breaker.Failure, breaker.Failure, breaker.Failure, breaker.Neutral}[(int(s.n)+i)%5]
			calls[k].permit.Done(o)
			m.done(calls[k].id, calls[k].generation, o)
			if s.n%4 != 0 { // else it is reported again some time
				calls = append(calls[:k], calls[k+1:]...)
			} else {
				calls[k].generation = -1
			}
		case 11, 12:
			d := time.Duration(s.n % 8)
			clock.Advance(d)
			m.now += d
		case 13:
			d := b.RetryIn() // exactly to the boundary, or one before it
			if s.n%2 == 0 && d > 0 {
				d--
			}
			if m.forced || d > 1000 {
				d = 1
			}
			clock.Advance(d)
			m.now += d
		case 14:
			d := time.Duration(s.n)
			b.OpenFor(d)
			if d > 0 && !m.disabled && !m.forced && (m.seen() != breaker.Open || m.now+d > m.until) {
				if m.state == breaker.Closed {
					m.decay()
				}
				m.become(breaker.Open)
				m.until = m.now + d
			}
		default:
			switch {
			case s.n < 16 && !m.forced:
				b.ForceOpen()
				m.become(breaker.Open)
				m.forced = true
			case s.n < 32 && !m.disabled:
				b.Disable()
				m.become(breaker.Closed)
				m.disabled = true
			case s.n < 64 || m.forced || m.disabled:
				b.Reset()
				m.become(breaker.Closed)
				m.level = 0
			}
		}
		failures := int(b.Counts().ConsecutiveFailures)
		if b.State() != m.seen() || b.Room() != m.room() || failures != m.failures {
			return fmt.Errorf("step %d of %v: %v, room %d, %d failures; want %v, room %d, %d failures",
				i, steps, b.State(), b.Room(), failures, m.seen(), m.room(), m.failures)
		}
		if m.seen() == breaker.Open && !m.forced && b.RetryIn() != m.until-m.now {
			return fmt.Errorf("step %d of %v: open for %v, want %v", i, steps, b.RetryIn(), m.until-m.now)
		}
		if (b.RetryIn() == 0) != (m.room() > 0) {
			return fmt.Errorf("step %d of %v: retry in %v with room %d", i, steps, b.RetryIn(), m.room())
		}
	}
	return nil
}

func modelConfig(shape byte) breaker.Config {
	return breaker.Config{
		FailureThreshold: 1 + int(shape%5),
		HalfOpenMaxCalls: 1 + int(shape/5%3),
		RecoveryTime:     5,
		MaxRecoveryTime:  5 << (shape / 15 % 4),
		Lease:            7,
	}
}

func TestModel_RandomSequences(t *testing.T) {
	random := seeded(22)
	for range 100_000 {
		steps := make([]step, 40)
		for i := range steps {
			n := random.Uint32()
			steps[i] = step{byte(n), byte(n >> 8)}
		}
		if err := against(modelConfig(byte(random.Uint32())), steps); err != nil {
			t.Fatal(err)
		}
	}
}

func TestModel_Rapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOf(rapid.Custom(func(t *rapid.T) step {
			return step{rapid.ByteRange(0, 15).Draw(t, "op"), rapid.Byte().Draw(t, "n")}
		})).Draw(t, "steps")
		if err := against(modelConfig(rapid.Byte().Draw(t, "shape")), steps); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzModel(f *testing.F) {
	f.Add(byte(2), []byte{0, 0, 5, 1, 0, 0, 5, 1, 13, 1, 0, 0, 5, 0})
	f.Fuzz(func(t *testing.T, shape byte, data []byte) {
		var steps []step
		for ; len(data) >= 2; data = data[2:] {
			steps = append(steps, step{data[0], data[1]})
		}
		if err := against(modelConfig(shape), steps); err != nil {
			t.Fatal(err)
		}
	})
}
