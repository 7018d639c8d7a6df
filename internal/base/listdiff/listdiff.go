// Package listdiff compares lists by their elements.
package listdiff

// Kind is the change of an element.
type Kind uint8

// The kinds.
const (
	Kept Kind = iota
	Moved
	Changed
	Added
	Deleted
)

// Element is one element and its change. Old and New are its indexes, -1 in the list that does not have it.
type Element struct {
	Kind     Kind
	Old, New int
}

// maxCells bounds the work for the differing middle of two lists. Longer lists are compared by index.
const maxCells = 1 << 20

// Compare compares lists of so many elements by whether two of them are the same. The result has each element once, in the order
// of the new list; deleted ones stand where they were.
//
// As many elements as possible are kept. An element that is in both lists otherwise has moved. A remaining element at the same
// place in both has changed.
func Compare(old, new int, same func(i, j int) bool) []Element {
	var out []Element
	begin := 0
	for begin < min(old, new) && same(begin, begin) {
		out = append(out, Element{Kept, begin, begin})
		begin++
	}
	end := 0
	for end < min(old, new)-begin && same(old-1-end, new-1-end) {
		end++
	}
	out = append(out, middle(begin, old-end, begin, new-end, same)...)
	for k := end; k > 0; k-- {
		out = append(out, Element{Kept, old - k, new - k})
	}
	return out
}

// middle compares the elements of two ranges.
func middle(i0, i1, j0, j1 int, same func(i, j int) bool) []Element {
	var all []Element
	if n, m := i1-i0, j1-j0; n > 0 && m > 0 && n*m > maxCells {
		for k := range max(n, m) {
			switch {
			case k >= n:
				all = append(all, Element{Added, -1, j0 + k})
			case k >= m:
				all = append(all, Element{Deleted, i0 + k, -1})
			case same(i0+k, j0+k):
				all = append(all, Element{Kept, i0 + k, j0 + k})
			default:
				all = append(all, Element{Changed, i0 + k, j0 + k})
			}
		}
		return all
	}
	all = align(i0, i1, j0, j1, same)
	all = move(all, same)
	return change(all)
}

// align keeps a longest common subsequence.
func align(i0, i1, j0, j1 int, same func(i, j int) bool) []Element {
	n, m := i1-i0, j1-j0
	longest := make([][]int, n+1) // of the rests from i and j on
	for i := range longest {
		longest[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if same(i0+i, j0+j) {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out []Element
	i, j := 0, 0
	for i < n || j < m {
		switch {
		case i < n && j < m && same(i0+i, j0+j):
			out = append(out, Element{Kept, i0 + i, j0 + j})
			i, j = i+1, j+1
		case j == m || i < n && longest[i+1][j] >= longest[i][j+1]:
			out = append(out, Element{Deleted, i0 + i, -1})
			i++
		default:
			out = append(out, Element{Added, -1, j0 + j})
			j++
		}
	}
	return out
}

// move turns an addition and a deletion of the same element into a move.
func move(all []Element, same func(i, j int) bool) []Element {
	gone := make(map[int]bool)
	for a := range all {
		if all[a].Kind != Added {
			continue
		}
		for d := range all {
			if all[d].Kind == Deleted && !gone[d] && same(all[d].Old, all[a].New) {
				gone[d] = true
				all[a] = Element{Moved, all[d].Old, all[a].New}
				break
			}
		}
	}
	out := all[:0:0]
	for i, e := range all {
		if !gone[i] {
			out = append(out, e)
		}
	}
	return out
}

// change turns additions and deletions at the same place into changes.
func change(all []Element) []Element {
	var out []Element
	for at := 0; at < len(all); {
		end := at
		var added, deleted []Element
		for end < len(all) && (all[end].Kind == Added || all[end].Kind == Deleted) {
			if all[end].Kind == Added {
				added = append(added, all[end])
			} else {
				deleted = append(deleted, all[end])
			}
			end++
		}
		if end == at {
			out = append(out, all[at])
			at++
			continue
		}
		both := min(len(added), len(deleted))
		for k := range both {
			out = append(out, Element{Changed, deleted[k].Old, added[k].New})
		}
		out = append(append(out, deleted[both:]...), added[both:]...)
		at = end
	}
	return out
}
