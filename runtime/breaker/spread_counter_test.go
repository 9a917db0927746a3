package breaker

import (
	"sync"
	"testing"
)

func TestSpreadCounter_LosesNothing(t *testing.T) {
	const each, goroutines = 10_000, 8
	var c spreadCounter
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for n := range each {
				c.add()
				if i == 0 && n == each/2 {
					c.collided() // it spreads in the middle, whatever the processors do
				}
			}
		})
	}
	wg.Wait()
	if got := c.load(); got != each*goroutines+1 {
		t.Fatalf("counted %d, want %d", got, each*goroutines+1)
	}
	if c.spread.Load() == nil {
		t.Fatal("a collision did not spread it")
	}
}
