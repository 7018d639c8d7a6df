package canon

import (
	"math"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// lifter reads values. Its methods get the bytes from the field on. After the first failure, which
// err holds, they return zero values.
type lifter struct {
	path
	mem Memory
	err error
	// own is set if mem is the program's own memory.
	own *Own
}

// elementCharge is the least charge for a list element in bytes: it bounds lists of tiny elements.
const elementCharge = 16

//go:noinline
func (l *lifter) fail(field string, err error) {
	if l.err == nil {
		l.err = &Error{Path: l.to(field), Err: err}
	}
}

func (l *lifter) bool(b []byte, field string) bool {
	if b[0] > 1 {
		l.fail(field, ErrBool)
	}
	return b[0] == 1
}

// enum reads the discriminant of a type with at most 256 cases.
func (l *lifter) enum(b []byte, cases int, field string) uint8 {
	if int(b[0]) >= cases {
		l.fail(field, ErrCase)
		return 0
	}
	return b[0]
}

// some reads the discriminant of an option.
func (l *lifter) some(b []byte, field string) bool {
	return l.enum(b, 2, field) == 1 && l.err == nil
}

// flags reads at most eight flags.
func (l *lifter) flags(b []byte, known uint8, field string) uint32 {
	if b[0]&^known != 0 {
		l.fail(field, ErrFlags)
	}
	return uint32(b[0] & known)
}

func (l *lifter) f64(b []byte) float64 { return math.Float64frombits(u64(b)) }

// contents reads the place of a string or byte list, 0 bytes if empty or failed, and charges for it.
func (l *lifter) contents(b []byte, field string) (ptr, n uint32) {
	ptr, n = extent(b)
	if n == 0 || l.err != nil {
		return 0, 0
	}
	if err := l.mem.Charge(uint64(n)); err != nil {
		l.fail(field, err)
		return 0, 0
	}
	return ptr, n
}

func (l *lifter) bytes(b []byte, field string) []byte {
	if l.own != nil {
		if data, ok := l.own.placed(b); ok {
			return data
		}
		return l.taken(b, field)
	}
	ptr, n := l.contents(b, field)
	if n == 0 {
		return nil
	}
	data, err := l.mem.Take(ptr, n)
	if err != nil {
		l.fail(field, err)
		return nil
	}
	return data
}

func (l *lifter) string(b []byte, field string) string {
	if l.own != nil {
		if ptr, n := extent(b); ptr-l.own.Begin < l.own.Size {
			return unsafe.String((*byte)(unsafe.Add(nil, uintptr(ptr))), n)
		}
		data := l.taken(b, field)
		return unsafe.String(unsafe.SliceData(data), len(data))
	}
	data := l.bytes(b, field)
	if len(data) == 0 {
		return ""
	}
	text := unsafe.String(&data[0], len(data)) // taken, so nobody changes it
	if !property.ValidText(text) {
		l.fail(field, ErrUTF8)
		return ""
	}
	return text
}

func (l *lifter) properties(b []byte, field string) property.Map {
	var m property.Map
	data, ok := []byte(nil), false
	if l.own != nil {
		data, ok = l.own.placed(b)
	}
	if !ok {
		if data, ok = l.encoded(b, field); !ok {
			return m
		}
	}
	m, err := l.codec().Unmarshal(data)
	if err != nil {
		l.fail(field, err)
	}
	return m
}

func (l *lifter) value(b []byte, field string) property.Value {
	var v property.Value
	data, ok := l.encoded(b, field)
	if !ok {
		return v
	}
	v, err := l.codec().UnmarshalValue(data)
	if err != nil {
		l.fail(field, err)
	}
	return v
}

func (l *lifter) codec() Codec {
	if l.own != nil {
		return l.own.Codec
	}
	return l.mem.Codec()
}

// encoded returns the bytes for the codec, which may be none.
func (l *lifter) encoded(b []byte, field string) (data []byte, ok bool) {
	if l.own != nil {
		return l.bytes(b, field), l.err == nil
	}
	ptr, n := l.contents(b, field)
	if l.err != nil {
		return nil, false
	}
	data, err := l.view(ptr, n)
	if err != nil {
		l.fail(field, err)
	}
	return data, err == nil
}

func (l *lifter) view(ptr, n uint32) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	return l.mem.View(ptr, n)
}

// failure lifts the error of a function or an operation.
func (l *lifter) failure(b []byte) *abi.Error {
	e := new(abi.Error)
	liftError(l, b, e)
	if (e.Kind == abi.ErrorKindInitFailed) != (e.InitFailure != nil) {
		l.fail("init-failure", ErrInitFailure)
	}
	return e
}

// area returns the bytes of a value that lies in memory.
func (l *lifter) area(ptr uint32, of layout) []byte {
	if ptr%of.align != 0 {
		l.fail("", ErrMisaligned)
	} else if data, err := l.view(ptr, of.size); err != nil {
		l.fail("", err)
	} else {
		return data
	}
	return nil
}

// liftString lifts a string that is an element of a list.
func liftString[S ~string](l *lifter, b []byte, v *S) { *v = S(l.string(b, "")) }

// liftList lifts a list of elements of the size and alignment.
func liftList[T any](l *lifter, b []byte, field string, size, align uint32, lift func(*lifter, []byte, *T)) []T {
	if u32(b[4:]) == 0 {
		return nil
	}
	return liftElements(l, b, field, size, align, lift)
}

// liftElements is liftList for lists that are not empty.
func liftElements[T any](l *lifter, b []byte, field string, size, align uint32, lift func(*lifter, []byte, *T)) []T {
	ptr, n := extent(b)
	if l.err != nil {
		return nil
	}
	elements := l.elements(ptr, n, field, size, align, uint64(unsafe.Sizeof(*new(T))))
	if elements == nil {
		return nil
	}
	list := make([]T, n)
	l.enter(field)
	for i := range list {
		l.at(i)
		lift(l, elements[i*int(size):], &list[i])
		if l.err != nil {
			return nil
		}
	}
	l.leave()
	return list
}

// elements returns the bytes of a list, nil if it fails. goSize is the size of an element in Go.
func (l *lifter) elements(ptr, n uint32, field string, size, align uint32, goSize uint64) []byte {
	total := uint64(n) * uint64(size)
	switch {
	case total > math.MaxUint32:
		l.fail(field, ErrLength)
		return nil
	case ptr%align != 0:
		l.fail(field, ErrMisaligned)
		return nil
	}
	data, err := l.mem.View(ptr, uint32(total))
	if err == nil {
		err = l.mem.Charge(uint64(n) * max(elementCharge, goSize))
	}
	if err != nil {
		l.fail(field, err)
		return nil
	}
	return data
}
