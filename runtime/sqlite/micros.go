package sqlite

import (
	"math"
	"strconv"
	"time"
)

// duration makes a time.Duration of microseconds, as long as it can be.
func duration(micros int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Microsecond)
	return time.Duration(min(max(micros, -most), most)) * time.Microsecond
}

func when(micros int64) time.Time {
	return time.UnixMicro(micros).UTC()
}

// later is now+d for d ≥ 0, without overflow. A part of a microsecond counts
// as a whole one: what is to be later must not become now.
func later(now int64, d time.Duration) int64 {
	if d <= 0 {
		return now
	}
	micros := int64((d-1)/time.Microsecond) + 1
	return now + min(micros, math.MaxInt64-max(now, 0))
}

// numbers is the JSON array of numbers that a query takes with json_each.
func numbers(ns []int64) string {
	b := make([]byte, 0, 2+8*len(ns))
	b = append(b, '[')
	for i, n := range ns {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, ']'))
}
