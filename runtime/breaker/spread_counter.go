package breaker

import (
	"sync/atomic"
	"unsafe"
)

// spreadCounter counts what every call counts. One word that all processors
// add to is the slowest part of a closed breaker, so the first collision
// spreads the count over several cache lines. A counter without collisions,
// as most of a large Registry's are, stays small.
type spreadCounter struct {
	base   atomic.Uint64
	spread atomic.Pointer[[spread]line]
}

// spread is a power of two.
const spread = 16

type line struct {
	n atomic.Uint64
	_ [56]byte
}

func (c *spreadCounter) add() {
	if lines := c.spread.Load(); lines != nil {
		lines[ownLine()].n.Add(1)
		return
	}
	if n := c.base.Load(); !c.base.CompareAndSwap(n, n+1) {
		c.collided()
	}
}

func (c *spreadCounter) collided() {
	c.spread.CompareAndSwap(nil, new([spread]line))
	c.spread.Load()[ownLine()].n.Add(1)
}

func (c *spreadCounter) load() uint64 {
	n := c.base.Load()
	if lines := c.spread.Load(); lines != nil {
		for i := range lines {
			n += lines[i].n.Load()
		}
	}
	return n
}

// ownLine chooses a line by the address of the goroutine's stack, the one
// thing at hand that differs between goroutines and stays with each. Any line
// is right; this only makes it likely that two processors use two.
func ownLine() uintptr {
	var onStack byte
	address := uintptr(unsafe.Pointer(&onStack))
	return (address * 0x9E3779B97F4A7C15 >> 32) % spread
}
