package shape

import (
	"reflect"
	"slices"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// Load sets the struct at target from properties. Fields of missing, null, and unknown properties keep
// their zero; other properties are ignored; secrets are unwrapped. A value of another type is an error
// of kind invalid-argument with its path.
func (s *Shape) Load(m property.Map, target unsafe.Pointer) error {
	if s.kind == kindProperties {
		*(*property.Map)(target) = m
		return nil
	}
	l := loader{}
	l.structure(s, m, target)
	if l.err == nil {
		return nil
	}
	slices.Reverse(l.path)
	l.err.Path = l.path.String()
	return l.err
}

type loader struct {
	err *abi.Error // the first mismatch, which ends all
	// path leads to it, the innermost segment first.
	path property.Path
	// around are the dependencies of the values around the one at the path.
	around []string
}

func (l *loader) fail(message string) {
	if l.err == nil {
		l.err = abi.NewError(abi.ErrorKindInvalidArgument, message)
	}
}

// failedAt reports whether there was a mismatch in the value that s leads to.
func (l *loader) failedAt(s property.Segment) bool {
	if l.err == nil {
		return false
	}
	l.path = append(l.path, s)
	return true
}

// structure is fast for most structs, because guests load them in each call.
func (l *loader) structure(s *Shape, m property.Map, target unsafe.Pointer) {
	entries, fields := m.Entries(), s.encoded
	next := 0
	for i := range fields {
		f := &fields[i]
		found := property.SeekKey(entries, next, f.name)
		if found < 0 {
			next = -1 - found
			continue
		}
		next = found + 1
		e := &entries[found]
		at := unsafe.Add(target, f.offset)
		switch f.shape.kind {
		case kindString:
			if text, ok := property.StringIn(&e.Value); ok {
				*(*string)(at) = text
				continue
			}
		case kindInt64:
			if integer, ok := property.IntegerIn(&e.Value); ok {
				*(*int64)(at) = integer
				continue
			}
		}
		l.value(f.shape, &e.Value, at)
		if l.err != nil {
			l.failedAt(property.Key(f.name))
			return
		}
	}
}

func (l *loader) value(s *Shape, v *property.Value, target unsafe.Pointer) {
	given := property.KindIn(v)
	if given == property.KindNull || given > property.KindResourceReference {
		l.indirect(s, v, target)
		return
	}
	ok := true
	switch s.kind {
	case kindPointer:
		p := s.element.allocate()
		l.value(s.element, v, p)
		*(*unsafe.Pointer)(target) = p
	case kindBool:
		*(*bool)(target), ok = property.BoolIn(v)
	case kindString:
		*(*string)(target), ok = property.StringIn(v)
	case kindFloat32:
		var f float64
		f, ok = property.NumberIn(v)
		*(*float32)(target) = float32(f)
	case kindFloat64:
		*(*float64)(target), ok = property.NumberIn(v)
	case kindSlice:
		var elements []property.Value
		if elements, ok = v.AsArray(); ok {
			l.slice(s, elements, target)
		}
	case kindMap:
		var m property.Map
		if m, ok = property.ObjectIn(v); ok {
			l.dictionary(s, m, target)
		}
	case kindStruct:
		var m property.Map
		if m, ok = property.ObjectIn(v); ok {
			l.structure(s, m, target)
		}
	case kindProperties:
		*(*property.Map)(target), ok = property.ObjectIn(v)
	case kindAsset:
		*(*property.Asset)(target), ok = v.AsAsset()
	case kindArchive:
		*(*property.Archive)(target), ok = v.AsArchive()
	case kindReference:
		*(*property.ResourceReference)(target), ok = referenceOf(*v)
	case kindValue:
		*(*property.Value)(target) = *v
	case kindEventual:
		l.output(s, *v, target)
	default:
		l.integer(s, v, target)
	}
	if !ok {
		l.fail("expected " + s.Type.String() + ", got " + given.String())
	}
}

// indirect loads a value that is null, unknown, a secret, or an output.
func (l *loader) indirect(s *Shape, v *property.Value, target unsafe.Pointer) {
	switch given := property.KindIn(v); {
	case s.kind == kindValue:
		*(*property.Value)(target) = *v // with its secrets and unknowns
	case s.kind == kindEventual || given == property.KindOutput:
		l.output(s, *v, target)
	case given == property.KindSecret:
		l.value(s, property.PlainIn(v), target)
	}
}

func (l *loader) integer(s *Shape, v *property.Value, target unsafe.Pointer) {
	i, ok := property.IntegerIn(v)
	if !ok {
		l.fail("expected integer, got " + property.KindIn(v).String())
		return
	}
	fits := true
	switch s.kind {
	case kindInt8:
		*(*int8)(target), fits = int8(i), i == int64(int8(i))
	case kindInt16:
		*(*int16)(target), fits = int16(i), i == int64(int16(i))
	case kindInt32:
		*(*int32)(target), fits = int32(i), i == int64(int32(i))
	case kindInt64:
		*(*int64)(target) = i
	case kindUint8:
		*(*uint8)(target), fits = uint8(i), i == int64(uint8(i))
	case kindUint16:
		*(*uint16)(target), fits = uint16(i), i == int64(uint16(i))
	case kindUint32:
		*(*uint32)(target), fits = uint32(i), i == int64(uint32(i))
	case kindUint64:
		*(*uint64)(target), fits = uint64(i), i >= 0
	}
	if !fits {
		l.fail("the integer is out of range")
	}
}

// sliceHeader is how a slice lies in memory.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

func (l *loader) slice(s *Shape, elements []property.Value, target unsafe.Pointer) {
	n := len(elements)
	data := s.element.allocateArray(n, s.goType)
	for i := range elements {
		l.value(s.element, &elements[i], unsafe.Add(data, uintptr(i)*s.element.size))
		if l.failedAt(property.Index(i)) {
			return
		}
	}
	*(*sliceHeader)(target) = sliceHeader{data, n, n}
}

// New returns a pointer to a new zero value of the shape's type.
func (s *Shape) New() unsafe.Pointer { return s.spare.take(s) }

// addressOf returns the address of a variable. Value.UnsafePointer would link the calls of methods by
// reflection.
func addressOf(v reflect.Value) unsafe.Pointer { return unsafe.Pointer(v.UnsafeAddr()) }

func (s *Shape) allocate() unsafe.Pointer {
	switch {
	case !s.kind.hasPointers():
		return unsafe.Pointer(new(uint64)) // as wide as the widest
	case s.kind == kindString:
		return unsafe.Pointer(new(string))
	}
	return s.New()
}

// allocateArray returns the memory of n zero values for a slice of the given type.
func (s *Shape) allocateArray(n int, slice reflect.Type) unsafe.Pointer {
	switch {
	case !s.kind.hasPointers():
		words := make([]uint64, (uintptr(n)*s.size+7)/8, max(1, (uintptr(n)*s.size+7)/8))
		return unsafe.Pointer(unsafe.SliceData(words))
	case s.kind == kindString:
		return unsafe.Pointer(unsafe.SliceData(make([]string, n)))
	}
	if n == 0 {
		return unsafe.Pointer(new(uint64)) // not nil, which would be a nil slice
	}
	return addressOf(reflect.MakeSlice(slice, n, n).Index(0))
}

// integerLimit is the largest magnitude up to which a double holds every integer.
const integerLimit = 1 << 53
