package property

import "slices"

// Copy returns a copy of to in which the parts that p locates are as in from: set or absent. Thus
// ignoreChanges keeps the old inputs, with the semantics of Pulumi. A wildcard stands for every key
// or index that both have: elements that a list gains or loses are as in to, and the others keep their values.
// Secrets of from are secret in the result. Secrets and outputs around parts of to stay.
//
// ok is false, and the result is to, if more is needed than setting and deleting properties: a
// container on the way is in only one of the two, or an index. Of the parts that a wildcard stands for, those
// stay as they are for which more is needed, unless that holds for all. A path that is in neither changes nothing.
func (p Path) Copy(from, to Value) (result Value, ok bool) {
	if len(p) == 0 {
		return from, true
	}
	if result, ok = (pathCopy{}).copy(from, to, p); !ok {
		return to, false
	}
	return result, true
}

// pathCopy says which wrappers the path has led through.
type pathCopy struct {
	fromSecret, toSecret bool
}

// kept returns a value of from as it is to be in to.
func (c pathCopy) kept(v Value) Value {
	if c.fromSecret && !c.toSecret {
		return Secret(v)
	}
	return v
}

// copy copies at a path of at least one segment.
func (c pathCopy) copy(from, to Value, path Path) (result Value, ok bool) {
	c.fromSecret = c.fromSecret || hidesContents(from)
	from = from.Plain()
	if to.isWrapper() {
		c.toSecret = c.toSecret || hidesContents(to)
		return to.inside(func(to Value) (Value, bool) { return c.copy(from, to, path) })
	}
	switch path[0].kind {
	case segmentKey:
		return c.copyKey(from, to, path)
	case segmentIndex:
		return c.copyIndex(from, to, path)
	default:
		return c.copyEach(from, to, path)
	}
}

// hidesContents reports whether v is a secret or a secret output.
func hidesContents(v Value) bool {
	return v.kind == KindSecret || v.kind == KindOutput && v.ref.(*Output).Secret
}

func (c pathCopy) copyKey(from, to Value, path Path) (result Value, ok bool) {
	key := path[0].key
	source, fromObject := from.AsObject()
	target, toObject := to.AsObject()
	old, hasOld := source.Lookup(key)
	now, hasNow := target.Lookup(key)
	switch {
	case len(path) == 1 && hasOld:
		return Object(target.With(key, c.kept(old))), toObject
	case len(path) == 1 && hasNow:
		return Object(target.Without(key)), true
	case fromObject != toObject:
		// At the last segment, from may be without the property in any way.
		return to, len(path) == 1 && !hasOld
	case hasNow:
		now, ok = c.copy(old, now, path[1:])
		return Object(target.With(key, now)), ok
	default:
		return to, !hasOld
	}
}

func (c pathCopy) copyIndex(from, to Value, path Path) (result Value, ok bool) {
	i := path[0].index
	source, fromArray := from.AsArray()
	target, toArray := to.AsArray()
	switch {
	case i < 0 || fromArray != toArray:
		return Value{}, false
	case i >= len(source) && i >= len(target):
		return to, !fromArray || len(path) == 1
	case i >= len(source) || i >= len(target):
		return Value{}, false
	}
	element, ok := c.kept(source[i]), true
	if len(path) > 1 {
		element, ok = c.copy(source[i], target[i], path[1:])
	}
	return to.replace(path[0], element), ok
}

// copyEach copies at a path that begins with the wildcard.
func (c pathCopy) copyEach(from, to Value, path Path) (result Value, ok bool) {
	last := len(path) == 1
	switch to.kind {
	case KindObject:
		source, fromObject := from.AsObject()
		if !fromObject {
			return to, last
		}
		if last {
			return c.copyEntries(source), true
		}
		var parts []Segment
		for key := range source.All() {
			if target, _ := to.AsObject(); target.Has(key) {
				parts = append(parts, Key(key))
			}
		}
		return c.copyParts(from, to, parts, path[1:])
	case KindArray:
		source, fromArray := from.AsArray()
		if !fromArray {
			return to, last
		}
		target, _ := to.AsArray()
		var parts []Segment
		for i := range min(len(source), len(target)) {
			parts = append(parts, Index(i))
		}
		return c.copyParts(from, to, parts, path[1:])
	default:
		return Value{}, false
	}
}

// copyParts copies at a path below each of the parts that both have.
func (c pathCopy) copyParts(from, to Value, parts []Segment, below Path) (result Value, ok bool) {
	ok = len(parts) == 0
	for _, part := range parts {
		if copied, can := c.copy(from, to, append(Path{part}, below...)); can {
			to, ok = copied, true
		}
	}
	return to, ok
}

// copyEntries returns an object of all entries of source.
func (c pathCopy) copyEntries(source Map) Value {
	entries := slices.Clone(source.Entries())
	for i := range entries {
		entries[i].Value = c.kept(entries[i].Value)
	}
	return Object(SortedMap(entries))
}
