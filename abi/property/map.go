package property

import (
	"iter"
	"slices"
)

// Entry is one key and value of a Map.
type Entry struct {
	Key   string
	Value Value
}

// Map is an immutable map from property names to values. The zero Map is empty.
//
// Entries are in the order of deterministic CBOR, so encoding is a walk and iteration is
// deterministic.
type Map struct {
	_ [0]func() // == would tell what Is does
	o *object   // nil for the empty map
}

// Is reports in constant time whether m and n are one map: copies of a Map, or empty maps. See Equal
// for equal properties.
func (m Map) Is(n Map) bool { return m.o == n.o }

// CompareKeys orders keys as RFC 8949, section 4.2.1, does: shorter keys first, then bytewise.
func CompareKeys(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return CompareText(a, b)
}

// NewMap returns a map of the entries, which it owns. The last value of a repeated key counts.
func NewMap(entries ...Entry) Map {
	sorted := true
	for i := 1; i < len(entries); i++ {
		if CompareKeys(entries[i-1].Key, entries[i].Key) >= 0 {
			sorted = false
			break
		}
	}
	if sorted {
		return SortedMap(entries)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return CompareKeys(a.Key, b.Key) })
	out := entries[:0]
	for i, e := range entries {
		if i+1 < len(entries) && entries[i+1].Key == e.Key {
			continue
		}
		out = append(out, e)
	}
	return SortedMap(out)
}

// SortedMap returns a map of entries that are distinct and in the order of CompareKeys; with others
// it does not find its keys. It takes ownership of the slice.
func SortedMap(entries []Entry) Map {
	if len(entries) == 0 {
		return Map{}
	}
	return Map{o: &object{entries: entries}}
}

// MapOf returns a map of the key-value pairs of m.
func MapOf(m map[string]Value) Map {
	entries := make([]Entry, 0, len(m))
	for k, v := range m {
		entries = append(entries, Entry{k, v})
	}
	return NewMap(entries...)
}

// Len returns the number of entries.
func (m Map) Len() int {
	if m.o == nil {
		return 0
	}
	if e := m.o.encoded; e != nil {
		return e.length
	}
	return len(m.o.entries)
}

// find returns the index of key, or the index where it belongs. Package slices would copy each large
// entry that it compares.
func find(entries []Entry, key string) (at int, ok bool) {
	low, high := 0, len(entries)
	for low < high {
		at := int(uint(low+high) >> 1)
		switch order := CompareKeys(entries[at].Key, key); {
		case order == 0:
			return at, true
		case order < 0:
			low = at + 1
		default:
			high = at
		}
	}
	return low, false
}

// fewEntries is up to how many a linear search is faster: most keys differ in length.
const fewEntries = 16

// index returns the index of key, or -1.
func index(entries []Entry, key string) int {
	if len(entries) <= fewEntries {
		return seekKey(entries, 0, key)
	}
	if at, ok := find(entries, key); ok {
		return at
	}
	return -1
}

// Get returns the value of key, or null.
func (m Map) Get(key string) Value {
	v, _ := m.Lookup(key)
	return v
}

// Lookup returns the value of key, and reports whether there is one.
func (m Map) Lookup(key string) (Value, bool) {
	entries := m.Entries()
	if i := index(entries, key); i >= 0 {
		return entries[i].Value, true
	}
	return Value{}, false
}

// Has reports whether the map has key.
func (m Map) Has(key string) bool {
	return index(m.Entries(), key) >= 0
}

// With returns a copy of the map in which key has value v.
func (m Map) With(key string, v Value) Map {
	entries := m.Entries()
	i, ok := find(entries, key)
	if ok {
		out := slices.Clone(entries)
		out[i].Value = v
		return SortedMap(out)
	}
	out := make([]Entry, 0, len(entries)+1)
	out = append(out, entries[:i]...)
	out = append(out, Entry{key, v})
	out = append(out, entries[i:]...)
	return SortedMap(out)
}

// Without returns a copy of the map that lacks the keys.
func (m Map) Without(keys ...string) Map {
	out := make([]Entry, 0, m.Len())
	for _, e := range m.Entries() {
		if !slices.Contains(keys, e.Key) {
			out = append(out, e)
		}
	}
	return SortedMap(out)
}

// All iterates over the entries in the order of deterministic CBOR.
func (m Map) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, e := range m.Entries() {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// Keys returns the keys in alphabetical order.
func (m Map) Keys() []string {
	entries := m.Entries()
	keys := make([]string, len(entries))
	for i := range entries {
		keys[i] = entries[i].Key
	}
	slices.Sort(keys)
	return keys
}

// Entries returns the entries in the order of deterministic CBOR. Nobody may change the slice.
func (m Map) Entries() []Entry {
	// The compiler just inlines this in guests, where a call takes longer.
	if m.o != nil && m.o.ready() {
		return m.o.entries
	}
	return m.o.all()
}
