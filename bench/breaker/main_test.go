package main

import (
	"strings"
	"testing"
)

func TestRun_PrintsEveryPath(t *testing.T) {
	var out strings.Builder
	if err := run(&out, 1); err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if n := strings.Count(out.String(), " "+p.name+"  "); n != len(p.contestants) {
			t.Errorf("%q stands on %d lines, want %d\n%s", p.name, n, len(p.contestants), out.String())
		}
	}
}

// Only the others' allocations are theirs.
func TestPaths_OursDoNotAllocate(t *testing.T) {
	for _, p := range paths {
		call, err := p.contestants[0].make()
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(10_000, call); n != 0 {
			t.Errorf("%s: %v allocations", p.name, n)
		}
	}
}

func BenchmarkPaths(b *testing.B) {
	for _, p := range paths {
		for _, c := range p.contestants {
			b.Run(p.name+"/"+c.name, func(b *testing.B) {
				call, err := c.make()
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				if p.parallel == parallel {
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							call()
						}
					})
					return
				}
				for b.Loop() {
					call()
				}
			})
		}
	}
}
