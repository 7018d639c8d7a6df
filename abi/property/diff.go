package property

// ChangeKind says how a part of a value differs.
type ChangeKind uint8

// The kinds of changes.
const (
	ChangeAdd ChangeKind = iota
	ChangeDelete
	ChangeUpdate
)

// Change is one difference between two values.
type Change struct {
	Path Path
	Kind ChangeKind
}

// Diff returns what differs between two bags of properties: the innermost parts
// that do, in alphabetical order of keys and numerical order of indexes. What is
// equal by Value.Equal does not differ, so that a null property is as good as an
// absent one; a value that became secret, or that is not known, does.
func Diff(old, new Map) []Change {
	var d differ
	d.maps(nil, old, new)
	return d.changes
}

type differ struct{ changes []Change }

func (d *differ) add(path Path, kind ChangeKind) {
	d.changes = append(d.changes, Change{path, kind})
}

func (d *differ) maps(at Path, old, new Map) {
	names := make([]Entry, 0, old.Len()+new.Len())
	names = append(append(names, old.entries...), new.entries...)
	for _, key := range NewMap(names...).Keys() {
		before, after := old.Get(key), new.Get(key)
		path := at.Append(Key(key))
		switch {
		case before.IsNull() && after.IsNull():
		case before.IsNull():
			d.add(path, ChangeAdd)
		case after.IsNull():
			d.add(path, ChangeDelete)
		default:
			d.values(path, before, after)
		}
	}
}

func (d *differ) values(at Path, old, new Value) {
	if old.Equal(new) {
		return
	}
	if old.kind == KindSecret && new.kind == KindSecret {
		d.values(at, *old.ref.(*Value), *new.ref.(*Value))
		return
	}
	if a, ok := old.AsObject(); ok {
		if b, ok := new.AsObject(); ok {
			d.maps(at, a, b)
			return
		}
	}
	if a, ok := old.AsArray(); ok {
		if b, ok := new.AsArray(); ok {
			d.arrays(at, a, b)
			return
		}
	}
	d.add(at, ChangeUpdate)
}

func (d *differ) arrays(at Path, old, new []Value) {
	for i := range max(len(old), len(new)) {
		path := at.Append(Index(i))
		switch {
		case i >= len(old):
			d.add(path, ChangeAdd)
		case i >= len(new):
			d.add(path, ChangeDelete)
		default:
			d.values(path, old[i], new[i])
		}
	}
}
