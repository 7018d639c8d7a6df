// Package sorted sorts lists with one copy of the algorithm for all types. slices.SortFunc is compiled anew for each type of
// structs, which are 12 kB of code for each, and slices.SortStableFunc 6 kB.
package sorted

import "sort"

// By sorts a list. Elements that compare as equal stay in their order.
func By[E any](list []E, compare func(a, b E) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}
