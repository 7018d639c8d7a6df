package canon

import (
	"math"
	"unsafe"
)

// ValueType is the type of a core WebAssembly value, in its binary encoding.
type ValueType = byte

// The core types that the contract's functions use.
const (
	I32 ValueType = 0x7f
	I64 ValueType = 0x7e
	F64 ValueType = 0x7c
)

// maxFlatParams is the canonical ABI's MAX_FLAT_PARAMS: more parameters are passed by address.
const maxFlatParams = 16

// Function is a function of the contract with the layout of its values.
type Function struct {
	// Interface is the WIT name of its interface, for example provider.
	Interface string
	// Name is its WIT name, for example check-config.
	Name string
	// Index is its place in its interface.
	Index int
	// Since is the first version of the contract that has it, empty for 0.1.0.
	Since string

	params  layout // all parameters as one record
	result  layout // size 0 for none
	fails   bool   // the result is result<T, error>
	payload uint32 // where in such a result T or the error begins
}

// layout is the form of a value in memory, and as flat parameters.
type layout struct {
	size, align uint32
	// slots are the places of the flat values. It is nil if they are too many to be passed flat.
	slots []slot
}

// slot is one flat value. The absent parts of a variant are zero in both forms, and the cases of
// each flat variant have their values at the same places. So the two forms convert into each other
// without knowledge of the type.
type slot struct {
	offset uint16
	kind   slotKind
}

type slotKind uint8

const (
	flat8 slotKind = iota
	flat16
	flat32
	flat64
	flatFloat
)

func (k slotKind) valueType() ValueType {
	switch k {
	case flat64:
		return I64
	case flatFloat:
		return F64
	}
	return I32
}

// spilled reports whether the parameters are passed in memory.
func (f *Function) spilled() bool { return len(f.params.slots) == 0 && f.params.size > 0 }

// indirect reports whether the result is passed in memory.
func (f *Function) indirect() bool { return f.result.size > 0 && len(f.result.slots) != 1 }

// signature returns the core parameters, without the address for the result.
func (f *Function) signature() []ValueType {
	if f.spilled() {
		return []ValueType{I32}
	}
	types := make([]ValueType, len(f.params.slots))
	for i, s := range f.params.slots {
		types[i] = s.kind.valueType()
	}
	return types
}

// room is for the memory form of most values, with any alignment.
type room [20]uint64

// zeroed returns size zeroed bytes, once.
func (r *room) zeroed(size uint32) []byte {
	if size > uint32(unsafe.Sizeof(*r)) {
		return make([]byte, size)
	}
	return BytesAt(unsafe.Pointer(r), size)
}

// flatten reads the flat values of b into flat, which is long enough.
func (l layout) flatten(flat []uint64, b []byte) {
	for i, s := range l.slots {
		at := b[s.offset:]
		switch s.kind {
		case flat8:
			flat[i] = uint64(at[0])
		case flat16:
			flat[i] = uint64(u16(at))
		case flat32:
			flat[i] = uint64(u32(at))
		default:
			flat[i] = u64(at)
		}
	}
}

// unflatten writes the memory form of flat values to zeroed bytes, unless a value is too large.
func (l layout) unflatten(b []byte, flat []uint64) (ok bool) {
	for i, s := range l.slots {
		at, v := b[s.offset:], flat[i]
		if s.kind.valueType() == I32 {
			v = uint64(uint32(v)) // the upper half of a core i32 is undefined
		}
		switch s.kind {
		case flat8:
			if v > math.MaxUint8 {
				return false
			}
			at[0] = byte(v)
		case flat16:
			if v > math.MaxUint16 {
				return false
			}
			putU16(at, uint16(v))
		case flat32:
			putU32(at, uint32(v))
		default:
			putU64(at, v)
		}
	}
	return true
}
