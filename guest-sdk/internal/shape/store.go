package shape

import (
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/internal/eventual"
)

// Store returns the struct at source as properties. Nil and null values are left out; so are zeros of
// optional inputs, as in a program. Tagged secrets are marked. An integer that a double cannot hold is
// an error with its path.
func (s *Shape) Store(source unsafe.Pointer) (property.Map, error) {
	if s.kind == kindProperties {
		return *(*property.Map)(source), nil
	}
	st := storer{given: s.given}
	m := st.structure(s, source)
	if st.err != nil {
		return property.Map{}, st.err
	}
	return m, nil
}

type storer struct {
	path  property.Path
	err   *abi.Error
	given bool
}

func (st *storer) structure(s *Shape, source unsafe.Pointer) property.Map {
	entries := make([]property.Entry, 0, len(s.fields))
	for i := range s.fields {
		f := &s.fields[i]
		st.path = append(st.path, property.Key(f.name))
		v := st.value(f.shape, unsafe.Add(source, f.offset))
		st.path = st.path[:len(st.path)-1]
		if v.IsNull() || st.given && f.optional && !f.shape.nilable() && isZero(v) {
			continue
		}
		if f.secret {
			v = property.Secret(v)
		}
		entries = append(entries, property.Entry{Key: f.name, Value: v})
	}
	return property.NewMap(entries...)
}

func isZero(v property.Value) bool {
	switch v.Kind() {
	case property.KindBool:
		b, _ := v.AsBool()
		return !b
	case property.KindNumber:
		f, _ := v.AsNumber()
		return f == 0
	case property.KindString:
		s, _ := v.AsString()
		return s == ""
	case property.KindObject:
		m, _ := v.AsObject()
		return m.Len() == 0
	}
	return false
}

func (st *storer) value(s *Shape, source unsafe.Pointer) property.Value {
	switch s.kind {
	case kindPointer:
		p := *(*unsafe.Pointer)(source)
		if p == nil {
			return property.Null
		}
		return st.value(s.element, p)
	case kindBool:
		return property.Bool(*(*bool)(source))
	case kindString:
		return property.String(*(*string)(source))
	case kindFloat32:
		return property.Number(float64(*(*float32)(source)))
	case kindFloat64:
		return property.Number(*(*float64)(source))
	case kindSlice:
		return st.slice(s, source)
	case kindMap:
		return st.dictionary(s, source)
	case kindStruct:
		return property.Object(st.structure(s, source))
	case kindValue:
		return *(*property.Value)(source)
	case kindProperties:
		return property.Object(*(*property.Map)(source))
	case kindAsset:
		return property.AssetOf(*(*property.Asset)(source))
	case kindArchive:
		return property.ArchiveOf(*(*property.Archive)(source))
	case kindReference:
		return storedReference(*(*property.ResourceReference)(source))
	case kindEventual:
		return st.eventual(*(**eventual.Cell)(source))
	}
	return st.integer(s, source)
}

func (st *storer) integer(s *Shape, source unsafe.Pointer) property.Value {
	i := s.integerAt(source)
	if i < -integerLimit || i > integerLimit {
		if st.err == nil {
			st.err = abi.NewError(abi.ErrorKindInternal, "the integer is beyond 2^53, where numbers lose digits; the provider should use a string")
			st.err.Path = st.path.String()
		}
	}
	return property.Number(float64(i))
}

// integerAt returns the integer at source; one beyond integerLimit stands for all larger ones.
func (s *Shape) integerAt(source unsafe.Pointer) int64 {
	switch s.kind {
	case kindInt8:
		return int64(*(*int8)(source))
	case kindInt16:
		return int64(*(*int16)(source))
	case kindInt32:
		return int64(*(*int32)(source))
	case kindInt64:
		return *(*int64)(source)
	case kindUint8:
		return int64(*(*uint8)(source))
	case kindUint16:
		return int64(*(*uint16)(source))
	case kindUint32:
		return int64(*(*uint32)(source))
	case kindUint64:
		return int64(min(*(*uint64)(source), integerLimit+1))
	}
	return 0
}

func (st *storer) slice(s *Shape, source unsafe.Pointer) property.Value {
	header := *(*sliceHeader)(source)
	if header.data == nil {
		return property.Null
	}
	elements := make([]property.Value, header.len)
	for i := range elements {
		st.path = append(st.path, property.Index(i))
		elements[i] = st.value(s.element, unsafe.Add(header.data, uintptr(i)*s.element.size))
		st.path = st.path[:len(st.path)-1]
	}
	return property.Array(elements...)
}
