package property

import (
	"iter"
	"slices"
	"strings"
)

// Entry is one key and value of a Map.
type Entry struct {
	Key   string
	Value Value
}

// Map is an immutable map from property names to values. The zero Map is empty.
//
// Entries are held in the order of deterministic CBOR (shorter keys first, then
// bytewise), so that encoding is a walk and iteration is deterministic.
type Map struct {
	entries []Entry
}

// CompareKeys orders keys as RFC 8949, section 4.2.1, orders their encodings:
// shorter ones first, then bytewise.
func CompareKeys(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// NewMap returns a map of the entries. Where a key occurs twice the last value
// is taken. It takes ownership of the slice.
func NewMap(entries ...Entry) Map {
	sorted := true
	for i := 1; i < len(entries); i++ {
		if CompareKeys(entries[i-1].Key, entries[i].Key) >= 0 {
			sorted = false
			break
		}
	}
	if sorted {
		return Map{entries: entries}
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return CompareKeys(a.Key, b.Key) })
	out := entries[:0]
	for i, e := range entries {
		if i+1 < len(entries) && entries[i+1].Key == e.Key {
			continue
		}
		out = append(out, e)
	}
	return Map{entries: out}
}

// SortedMap returns a map of entries that the caller knows to be distinct and in
// the order of CompareKeys, as a decoder does that has checked it. A map of other
// entries does not find its keys; use NewMap for those. It takes ownership of the
// slice.
func SortedMap(entries []Entry) Map { return Map{entries: entries} }

// MapOf returns a map of the key-value pairs of m.
func MapOf(m map[string]Value) Map {
	entries := make([]Entry, 0, len(m))
	for k, v := range m {
		entries = append(entries, Entry{k, v})
	}
	return NewMap(entries...)
}

// Len returns the number of entries.
func (m Map) Len() int { return len(m.entries) }

// find returns where key is, or would be. It is the inner loop of much, and entries are
// large: package slices would copy each that it looks at.
func (m Map) find(key string) (int, bool) {
	low, high := 0, len(m.entries)
	for low < high {
		middle := int(uint(low+high) >> 1)
		switch order := CompareKeys(m.entries[middle].Key, key); {
		case order == 0:
			return middle, true
		case order < 0:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, false
}

// Get returns the value of key, null where there is none.
func (m Map) Get(key string) Value {
	v, _ := m.Lookup(key)
	return v
}

// Lookup returns the value of key and whether there is one.
func (m Map) Lookup(key string) (Value, bool) {
	if i, ok := m.find(key); ok {
		return m.entries[i].Value, true
	}
	return Value{}, false
}

// Has reports whether the map has key.
func (m Map) Has(key string) bool {
	_, ok := m.find(key)
	return ok
}

// With returns a copy of the map in which key has value v.
func (m Map) With(key string, v Value) Map {
	i, ok := m.find(key)
	if ok {
		out := slices.Clone(m.entries)
		out[i].Value = v
		return Map{entries: out}
	}
	out := make([]Entry, 0, len(m.entries)+1)
	out = append(out, m.entries[:i]...)
	out = append(out, Entry{key, v})
	out = append(out, m.entries[i:]...)
	return Map{entries: out}
}

// Without returns a copy of the map that lacks the keys.
func (m Map) Without(keys ...string) Map {
	out := make([]Entry, 0, len(m.entries))
	for _, e := range m.entries {
		if !slices.Contains(keys, e.Key) {
			out = append(out, e)
		}
	}
	return Map{entries: out}
}

// All iterates over the entries in the order of deterministic CBOR.
func (m Map) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, e := range m.entries {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// Keys returns the keys in alphabetical order, as people read them.
func (m Map) Keys() []string {
	keys := make([]string, len(m.entries))
	for i, e := range m.entries {
		keys[i] = e.Key
	}
	slices.Sort(keys)
	return keys
}

// Entries returns the entries in the order of deterministic CBOR. The caller
// must not change the slice.
func (m Map) Entries() []Entry { return m.entries }
