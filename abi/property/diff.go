package property

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// Change is one difference between two values.
type Change struct {
	Path Path
	Kind ChangeKind
}

// ChangeKind says how a part of a value differs.
type ChangeKind uint8

// The kinds of changes.
const (
	ChangeAdd ChangeKind = iota
	ChangeDelete
	ChangeUpdate
)

// String returns add, delete, or update.
func (k ChangeKind) String() string {
	switch k {
	case ChangeAdd:
		return "add"
	case ChangeDelete:
		return "delete"
	default:
		return "update"
	}
}

// Diff returns the innermost parts that differ between two maps, sorted by path. Arrays are compared by index. Diff returns
// nothing exactly if the maps are equal, see Map.Equal. A value is updated, too, if it became secret, known, or unknown, or its
// output has other dependencies.
func Diff(old, new Map) []Change { return comparison{}.diff(old, new) }

// DiffContents is Diff that looks through secrets and outputs.
func DiffContents(old, new Map) []Change { return comparison{contents: true}.diff(old, new) }

func (c comparison) diff(old, new Map) []Change {
	d := differ{comparison: c}
	d.maps(old, new)
	// slices.SortFunc is compiled anew for each type, which is 9 kB.
	sort.Slice(d.changes, func(a, b int) bool { return comparePaths(d.changes[a].Path, d.changes[b].Path) < 0 })
	return d.changes
}

// comparePaths orders paths by segment: indexes by number, and before keys.
func comparePaths(p, q Path) int {
	return slices.CompareFunc(p, q, func(a, b Segment) int {
		return cmp.Or(-cmp.Compare(a.kind, b.kind), a.index-b.index, strings.Compare(a.key, b.key))
	})
}

type differ struct {
	comparison
	path    Path // to the values being compared
	changes []Change
}

func (d *differ) add(kind ChangeKind) {
	d.changes = append(d.changes, Change{slices.Clone(d.path), kind})
}

func (d *differ) values(old, new Value) {
	if d.contents {
		old, new = old.Plain(), new.Plain()
	}
	if old.kind == new.kind {
		switch old.kind {
		case KindObject:
			d.maps(old.object(), new.object())
			return
		case KindArray:
			d.arrays(old.elements(), new.elements())
			return
		case KindSecret:
			d.values(*old.ref.(*Value), *new.ref.(*Value))
			return
		case KindOutput:
			if a, b := old.ref.(*Output), new.ref.(*Output); sameOrigin(a, b) {
				d.values(a.Value, b.Value)
				return
			}
		}
	}
	if !d.equal(old, new) {
		d.add(ChangeUpdate)
	}
}

func (d *differ) maps(old, new Map) {
	if old.same(new) {
		return
	}
	for key, p := range pairs(old, new) {
		d.path = append(d.path, Key(key))
		switch {
		case !d.isNull(p.v) && !d.isNull(p.w):
			d.values(p.v, p.w)
		case !d.isNull(p.w):
			d.add(ChangeAdd)
		case !d.isNull(p.v):
			d.add(ChangeDelete)
		}
		d.path = d.path[:len(d.path)-1]
	}
}

// isNull reports whether a property counts as absent.
func (d *differ) isNull(v Value) bool {
	if d.contents {
		v = v.Plain()
	}
	return v.IsNull()
}

func (d *differ) arrays(old, new []Value) {
	for i := range max(len(old), len(new)) {
		d.path = append(d.path, Index(i))
		switch {
		case i >= len(old):
			d.add(ChangeAdd)
		case i >= len(new):
			d.add(ChangeDelete)
		default:
			d.values(old[i], new[i])
		}
		d.path = d.path[:len(d.path)-1]
	}
}
