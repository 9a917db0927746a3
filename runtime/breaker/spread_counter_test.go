package breaker

import (
	"sync"
	"testing"
)

func TestSpreadCounter_LosesNothing(t *testing.T) {
	const each, goroutines = 10_000, 8
	var c spreadCounter
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for n := range each {
				if n == each/2 {
					c.collided() // all at about one time, whatever the processors do
				} else {
					c.add()
				}
			}
		})
	}
	wg.Wait()
	if got := c.load(); got != each*goroutines {
		t.Fatalf("counted %d, want %d", got, each*goroutines)
	}
	if c.spread.Load() == nil {
		t.Fatal("a collision did not spread it")
	}
}
