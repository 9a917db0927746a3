package emit_test

import (
	"bytes"
	"runtime"
	"sync"
	"testing"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/emit/emittest"
)

// TestFiles_IsDeterministic: many runs side by side, on one processor and on
// all, give the same bytes. Maps are iterated in another order each time.
func TestFiles_IsDeterministic(t *testing.T) {
	for _, folder := range []string{"everything", "own"} {
		want := emittest.Files(t, emittest.Load(t, "testdata/"+folder))
		for _, procs := range []int{1, runtime.NumCPU()} {
			before := runtime.GOMAXPROCS(procs)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					have, err := emit.Files(emittest.Load(t, "testdata/"+folder))
					if err != nil || len(have) != len(want) {
						t.Errorf("%d files, %v", len(have), err)
						return
					}
					for i := range have {
						if have[i].Name != want[i].Name || !bytes.Equal(have[i].Content, want[i].Content) {
							t.Errorf("%s differs from run to run", have[i].Name)
						}
					}
				})
			}
			wg.Wait()
			runtime.GOMAXPROCS(before)
		}
	}
}
