package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

const (
	// maxSuggestions bounds how many names a message offers.
	maxSuggestions = 3
	// maxCompared bounds the names that are compared, in characters: the cost grows
	// with the square, and no name that people write is longer.
	maxCompared = 200
)

// Nearest returns the candidates that name may be a misspelling of, nearest
// first: those whose letters are the same but for their case, and those that
// a few slips of the keyboard lead to, one for every three characters.
func Nearest(name string, candidates []string) []string {
	type scored struct {
		name  string
		slips int
	}
	lower := fold(name)
	if len(lower) > maxCompared {
		return nil
	}
	limit := max(1, len(lower)/3)
	var near []scored
	for _, c := range candidates {
		if c == name {
			continue
		}
		folded := fold(c)
		if abs(len(folded)-len(lower)) > limit {
			continue
		}
		if d := distance(lower, folded); d <= limit {
			near = append(near, scored{c, d})
		}
	}
	slices.SortFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.slips, b.slips), strings.Compare(a.name, b.name))
	})
	var names []string
	for _, s := range near {
		if len(names) < maxSuggestions && !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

// DidYouMean returns "; did you mean ...?" with the candidates that are near to
// name, or nothing where none is.
func DidYouMean(name string, candidates []string) string {
	near := Nearest(name, candidates)
	if len(near) == 0 {
		return ""
	}
	for i, n := range near {
		near[i] = fmt.Sprintf("%q", n)
	}
	last := len(near) - 1
	if last == 0 {
		return "; did you mean " + near[0] + "?"
	}
	return "; did you mean " + strings.Join(near[:last], ", ") + " or " + near[last] + "?"
}

func fold(s string) []rune {
	runes := []rune(s)
	for i, r := range runes {
		runes[i] = unicode.ToLower(r)
	}
	return runes
}

func abs(n int) int { return max(n, -n) }

// distance returns how many characters have to be added, removed, changed, or
// swapped with their neighbour to make a into b (optimal string alignment).
func distance(a, b []rune) int {
	var before []int // the row before last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i, ra := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j, rb := range b {
			cost := last[j]
			if ra != rb {
				cost++
			}
			row[j+1] = min(cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && ra == b[j-1] && a[i-1] == rb {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
