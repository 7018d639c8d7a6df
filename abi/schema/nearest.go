package schema

import "strings"

// maxNearestLength bounds names that Nearest compares, in bytes: the comparison is quadratic.
const maxNearestLength = 64

// Nearest returns the known name that name was most likely meant to be, or "": the one with the
// fewest letters inserted, removed, replaced, or swapped, at most a third of its length. Case does
// not count.
func Nearest(name string, known []string) string {
	if len(name) > maxNearestLength {
		return ""
	}
	best, bestDistance := "", 0
	for _, candidate := range known {
		if len(candidate) > maxNearestLength {
			continue
		}
		d := distance(strings.ToLower(name), strings.ToLower(candidate))
		if longer := max(len(name), len(candidate)); d > (longer+2)/3 || d == longer {
			continue
		}
		if best == "" || d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance is the optimal string alignment distance of two names, in bytes.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
