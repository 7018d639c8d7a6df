//go:build wasip1

package bindings

import (
	"math"
	"unsafe"

	"github.com/husk-dev/husk/abi/canon"
)

// A record is the memory form of parameters that are passed flat: at most 16 values.
type record [16]uint64

// Flat are the parameters of the export's call that is served.
var Flat record

// Put8 writes a value of one byte at an offset in bytes, which lies in the record.
func (r *record) Put8(offset uintptr, v uint32) {
	if v > math.MaxUint8 {
		outOfRange()
	}
	*(*uint8)(unsafe.Add(unsafe.Pointer(r), offset)) = uint8(v)
}

// Put16 is Put8 for values of two bytes.
func (r *record) Put16(offset uintptr, v uint32) {
	if v > math.MaxUint16 {
		outOfRange()
	}
	*(*uint16)(unsafe.Add(unsafe.Pointer(r), offset)) = uint16(v)
}

// Put32 is Put8 for values of four bytes.
func (r *record) Put32(offset uintptr, v uint32) {
	*(*uint32)(unsafe.Add(unsafe.Pointer(r), offset)) = v
}

// Put64 is Put8 for values of eight bytes.
func (r *record) Put64(offset uintptr, v uint64) {
	*(*uint64)(unsafe.Add(unsafe.Pointer(r), offset)) = v
}

// PutFloat is Put64 for floats.
func (r *record) PutFloat(offset uintptr, v float64) {
	*(*float64)(unsafe.Add(unsafe.Pointer(r), offset)) = v
}

// Record returns the bytes of all parameters.
func (r *record) Record(size uint32) []byte { return canon.BytesAt(unsafe.Pointer(r), size) }

// outOfRange ends the module: the host broke the ABI, and there is nobody else to tell.
func outOfRange() { panic("a parameter does not fit its type") }

// Spilled returns the bytes of parameters that are too many to be passed flat.
func Spilled(ptr, size uint32) []byte {
	data, err := answer.Take(ptr, size)
	if err != nil {
		panic(err)
	}
	return data
}
