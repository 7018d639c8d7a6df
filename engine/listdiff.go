package engine

import (
	"slices"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/base/listdiff"
)

// listChanges are the changes of the elements of lists, by the path of the list.
type listChanges map[string]*listChange

type listChange struct {
	path     property.Path
	old, new []property.Value
	changes  []int // indexes of the changes
	indexes  map[int]bool
	// gone and come are the elements of the old and the new list that the changes name. Others are not looked at: in a
	// set, they are the same wherever they are.
	gone, come []int
	mismatched bool // the changes are not all of the same pair of lists
	// adds, deletes, and updates say which kinds of changes there are.
	adds, deletes, updates bool
}

// isSet reports whether elements go and others come: lists that are compared index by index have either beyond the end of the other.
func (c *listChange) isSet() bool { return c.adds && c.deletes && !c.updates }

// add notes a change that is of an element of a list in both values.
func (l listChanges) add(change int, kind string, path property.Path, before, after property.Map) {
	i := slices.IndexFunc(path, func(s property.Segment) bool { _, ok := s.Index(); return ok })
	if i < 0 {
		return
	}
	list := path[:i]
	oldValue, _ := list.Get(property.Object(before))
	newValue, _ := list.Get(property.Object(after))
	old, wasList := oldValue.AsArray()
	n, isList := newValue.AsArray()
	if !wasList || !isList {
		return
	}
	c := l[list.String()]
	if c == nil {
		c = &listChange{path: list, old: old, new: n, indexes: map[int]bool{}}
		l[list.String()] = c
	}
	c.mismatched = c.mismatched || len(c.old) != len(old) || len(c.new) != len(n)
	index, _ := path[i].Index()
	c.indexes[index] = true
	isGone, isCome := len(path) > i+1 || kind != "add", len(path) > i+1 || kind != "delete"
	c.adds, c.deletes, c.updates = c.adds || !isGone, c.deletes || !isCome, c.updates || isGone && isCome
	c.mismatched = c.mismatched || isGone && !isCome && index >= len(old) || isCome && !isGone && index >= len(n)
	if isGone && index < len(old) {
		c.gone = insertIndex(c.gone, index)
	}
	if isCome && index < len(n) {
		c.come = insertIndex(c.come, index)
	}
	c.changes = append(c.changes, change)
}

// merge returns the changes. It lists changes of a list by the fate of each element if that is shorter: an element at the front
// changes all that follow it, by their indexes.
func (l listChanges) merge(all []PropertyChange) []PropertyChange {
	var merged []PropertyChange
	dropped := map[int]bool{}
	for _, c := range l {
		if c.mismatched || len(c.indexes) < 2 {
			continue
		}
		elements, replaces := c.elements(), false
		if len(elements) >= len(c.indexes) && !slices.ContainsFunc(elements, func(e PropertyChange) bool { return e.Kind == "move" }) {
			continue
		}
		for _, i := range c.changes {
			dropped[i] = true
			replaces = replaces || all[i].Replaces
		}
		for _, e := range elements {
			e.Replaces = replaces
			merged = append(merged, e)
		}
	}
	for i, c := range all {
		if !dropped[i] {
			merged = append(merged, c)
		}
	}
	return merged
}

// insertIndex inserts an index into a sorted list, unless it is there.
func insertIndex(list []int, index int) []int {
	at, has := slices.BinarySearch(list, index)
	if has {
		return list
	}
	return slices.Insert(list, at, index)
}

// everyIndex has the changes name all elements of a list that was compared index by index, as its other elements are the same
// where they are: one of these may be what an element that goes became. A set has them elsewhere.
func (c *listChange) everyIndex() {
	named := func(list []int, i int) bool {
		_, has := slices.BinarySearch(list, i)
		return has
	}
	for i := range max(len(c.old), len(c.new)) {
		gone, come := named(c.gone, i) || i >= len(c.old), named(c.come, i) || i >= len(c.new)
		if gone != come || !gone && !c.old[i].EqualContents(c.new[i]) {
			return
		}
	}
	c.gone, c.come = indexes(len(c.old)), indexes(len(c.new))
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// elements returns the change of each element that the changes name and that was not kept.
func (c *listChange) elements() []PropertyChange {
	var out []PropertyChange
	isSet := c.isSet()
	if !isSet {
		c.everyIndex()
	}
	same := func(i, j int) bool { return c.old[c.gone[i]].EqualContents(c.new[c.come[j]]) }
	at := func(i int) string { return c.path.Append(property.Index(i)).String() }
	for _, e := range listdiff.Compare(len(c.gone), len(c.come), same) {
		var was, is int
		var change PropertyChange
		if e.Old >= 0 {
			was = c.gone[e.Old]
			change.Path, change.Old = at(was), property.Render(c.old[was])
		}
		if e.New >= 0 {
			is = c.come[e.New]
			change.Path, change.New = at(is), property.Render(c.new[is])
		}
		if e.Kind == listdiff.Changed && (isSet || !slices.Contains(c.come, was) && !slices.Contains(c.gone, is)) { // one goes, another comes
			out = append(out, PropertyChange{Path: at(was), Kind: "delete", Old: change.Old}, PropertyChange{Path: at(is), Kind: "add", New: change.New})
			continue
		}
		switch e.Kind {
		case listdiff.Kept:
			continue
		case listdiff.Moved:
			change.Kind, change.From = "move", at(was)
		case listdiff.Changed:
			change.Kind = "update"
		case listdiff.Added:
			change.Kind = "add"
		case listdiff.Deleted:
			change.Kind = "delete"
		}
		out = append(out, change)
	}
	return out
}
