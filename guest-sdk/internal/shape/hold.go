package shape

import (
	"unsafe"

	"github.com/husk-dev/husk/abi/property"
)

// Holds reports whether the struct at source is as Load made it of the properties; false is uncertain.
// Most code of authors only reads, and then nothing needs to be stored.
func (s *Shape) Holds(m property.Map, source unsafe.Pointer) bool {
	if s.kind == kindProperties {
		return (*property.Map)(source).Equal(m)
	}
	entries, fields := m.Entries(), s.encoded
	var null property.Value
	next := 0
	for i := range fields {
		f, v := &fields[i], &null
		if found := property.SeekKey(entries, next, f.name); found >= 0 {
			next, v = found+1, &entries[found].Value
		} else {
			next = -1 - found
		}
		if !f.shape.holds(v, unsafe.Add(source, f.offset)) {
			return false
		}
	}
	return true
}

func (s *Shape) holds(v *property.Value, source unsafe.Pointer) bool {
	if s.kind == kindValue {
		return (*property.Value)(source).Equal(*v)
	}
	v = property.PlainIn(v)
	given := property.KindIn(v)
	absent := given == property.KindNull || given == property.KindUnknown
	switch s.kind {
	case kindPointer:
		p := *(*unsafe.Pointer)(source)
		if p == nil || absent {
			return p == nil && absent
		}
		return s.element.holds(v, p)
	case kindBool:
		b, _ := property.BoolIn(v)
		return *(*bool)(source) == b
	case kindString:
		text, _ := property.StringIn(v)
		return property.EqualText(*(*string)(source), text)
	case kindFloat32:
		f, _ := property.NumberIn(v)
		return *(*float32)(source) == float32(f)
	case kindFloat64:
		f, _ := property.NumberIn(v)
		return *(*float64)(source) == f
	case kindSlice:
		header := *(*sliceHeader)(source)
		elements, _ := v.AsArray()
		if header.data == nil || absent {
			return header.data == nil && absent
		}
		if header.len != len(elements) {
			return false
		}
		for i := range elements {
			if !s.element.holds(&elements[i], unsafe.Add(header.data, uintptr(i)*s.element.size)) {
				return false
			}
		}
		return true
	case kindStruct, kindProperties:
		m, _ := property.ObjectIn(v)
		return s.Holds(m, source)
	case kindMap:
		if absent || *(*unsafe.Pointer)(source) == nil {
			return absent && *(*unsafe.Pointer)(source) == nil
		}
		m, ok := property.ObjectIn(v)
		return ok && s.element.holdsAll(m, source)
	case kindAsset, kindArchive, kindReference:
		st := storer{given: true}
		return !absent && st.value(s, source).EqualContents(*v)
	case kindEventual:
		return false
	}
	f, _ := property.NumberIn(v)
	return float64(s.integerAt(source)) == f
}
