// Package sorted sorts lists with one copy of the algorithm for all types. slices.SortFunc is compiled anew for each type of
// structs, which are 12 kB of code for each, and slices.SortStableFunc 6 kB.
package sorted

import "sort"

// By sorts a list. Elements that compare as equal stay in their order.
func By[E any](list []E, compare func(a, b E) int) { sort.Stable(by[E]{list, compare}) }

type by[E any] struct {
	list    []E
	compare func(a, b E) int
}

func (b by[E]) Len() int           { return len(b.list) }
func (b by[E]) Less(i, j int) bool { return b.compare(b.list[i], b.list[j]) < 0 }
func (b by[E]) Swap(i, j int)      { b.list[i], b.list[j] = b.list[j], b.list[i] }
