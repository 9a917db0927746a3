package spec

import (
	"fmt"
	"strings"
)

// didYouMean is a hint that names the candidate nearest to got, or all of
// them when none is near and they are few; else "".
func didYouMean(got string, candidates []string) string {
	if hint := nearest(got, candidates); hint != "" {
		return hint
	}
	if len(candidates) > 0 && len(candidates) <= 8 {
		return "one of " + strings.Join(candidates, ", ")
	}
	return ""
}

// nearest is a hint that names the candidate nearest to got; "" when none is
// near.
func nearest(got string, candidates []string) string {
	best, bestDistance := "", len([]rune(got))/3+2
	for _, c := range candidates {
		if d := distance(strings.ToLower(got), strings.ToLower(c), bestDistance); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b; limit stands for all that is not below it.
func distance(a, b string, limit int) int {
	s, t := []rune(a), []rune(b)
	if len(s)-len(t) >= limit || len(t)-len(s) >= limit {
		return limit
	}
	before, row := make([]int, len(t)+1), make([]int, len(t)+1)
	next := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(s); i++ {
		next[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return min(row[len(t)], limit)
}
