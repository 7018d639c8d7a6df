package shape

import (
	"unsafe"

	"github.com/husk-dev/husk/abi/property"
)

// layout is how the elements of a map lie in memory. Go's maps work the same for all types of one
// layout: the type is not stored in the map, and all keys are strings. Reflection would be ten times
// the code.
type layout uint8

const (
	layoutNone layout = iota // not supported
	layout8
	layout16
	layout32
	layout64
	layoutString
	layoutPointer // pointers and maps
	layoutSlice
	layoutValue
)

func (s *Shape) layout() layout {
	switch s.kind {
	case kindBool, kindInt8, kindUint8:
		return layout8
	case kindInt16, kindUint16:
		return layout16
	case kindInt32, kindUint32, kindFloat32:
		return layout32
	case kindInt64, kindUint64, kindFloat64:
		return layout64
	case kindString:
		return layoutString
	case kindPointer, kindMap:
		return layoutPointer
	case kindSlice:
		return layoutSlice
	case kindValue:
		return layoutValue
	}
	return layoutNone
}

func (l *loader) dictionary(s *Shape, m property.Map, target unsafe.Pointer) {
	switch s.element.layout() {
	case layout8:
		loadMap[uint8](l, s.element, m, target)
	case layout16:
		loadMap[uint16](l, s.element, m, target)
	case layout32:
		loadMap[uint32](l, s.element, m, target)
	case layout64:
		loadMap[uint64](l, s.element, m, target)
	case layoutString:
		loadMap[string](l, s.element, m, target)
	case layoutPointer:
		loadMap[unsafe.Pointer](l, s.element, m, target)
	case layoutSlice:
		loadMap[sliceHeader](l, s.element, m, target)
	case layoutValue:
		loadMap[property.Value](l, s.element, m, target)
	}
}

// loadMap sets the map at target, whose elements lie in memory as E does.
func loadMap[E any](l *loader, element *Shape, m property.Map, target unsafe.Pointer) {
	out := make(map[string]E, m.Len())
	entries := m.Entries()
	for i := range entries {
		entry := &entries[i]
		var e E
		l.value(element, &entry.Value, unsafe.Pointer(&e))
		if l.failedAt(property.Key(entry.Key)) {
			return
		}
		out[entry.Key] = e
	}
	*(*map[string]E)(target) = out
}

func (st *storer) dictionary(s *Shape, source unsafe.Pointer) property.Value {
	switch s.element.layout() {
	case layout8:
		return storeMap[uint8](st, s.element, source)
	case layout16:
		return storeMap[uint16](st, s.element, source)
	case layout32:
		return storeMap[uint32](st, s.element, source)
	case layout64:
		return storeMap[uint64](st, s.element, source)
	case layoutString:
		return storeMap[string](st, s.element, source)
	case layoutPointer:
		return storeMap[unsafe.Pointer](st, s.element, source)
	case layoutSlice:
		return storeMap[sliceHeader](st, s.element, source)
	case layoutValue:
		return storeMap[property.Value](st, s.element, source)
	}
	return property.Null
}

// storeMap returns the map at source, whose elements lie in memory as E does.
func storeMap[E any](st *storer, element *Shape, source unsafe.Pointer) property.Value {
	m := *(*map[string]E)(source)
	if m == nil {
		return property.Null
	}
	entries := make([]property.Entry, 0, len(m))
	for key, e := range m {
		entries = st.entry(entries, element, key, unsafe.Pointer(&e))
	}
	return property.Object(property.NewMap(entries...))
}

func (st *storer) entry(entries []property.Entry, element *Shape, key string, source unsafe.Pointer) []property.Entry {
	st.path = append(st.path, property.Key(key))
	v := st.value(element, source)
	st.path = st.path[:len(st.path)-1]
	return append(entries, property.Entry{Key: key, Value: v})
}

// holdsAll is holds for the elements of the map at source, which is not nil.
func (s *Shape) holdsAll(m property.Map, source unsafe.Pointer) bool {
	switch s.layout() {
	case layout8:
		return mapHolds[uint8](s, m, source)
	case layout16:
		return mapHolds[uint16](s, m, source)
	case layout32:
		return mapHolds[uint32](s, m, source)
	case layout64:
		return mapHolds[uint64](s, m, source)
	case layoutString:
		return mapHolds[string](s, m, source)
	case layoutPointer:
		return mapHolds[unsafe.Pointer](s, m, source)
	case layoutSlice:
		return mapHolds[sliceHeader](s, m, source)
	case layoutValue:
		return mapHolds[property.Value](s, m, source)
	}
	return false
}

// mapHolds is holdsAll for a map whose elements lie in memory as E does.
func mapHolds[E any](element *Shape, m property.Map, source unsafe.Pointer) bool {
	elements := *(*map[string]E)(source)
	if len(elements) != m.Len() {
		return false
	}
	entries := m.Entries()
	for i := range entries {
		entry := &entries[i]
		e, ok := elements[entry.Key]
		if !ok || !element.holds(&entry.Value, unsafe.Pointer(&e)) {
			return false
		}
	}
	return true
}
