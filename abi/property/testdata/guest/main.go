// Command guest offers its host the functions that are others in guests.
package main

import (
	"runtime"
	"unsafe"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

func main() {}

// The heap does not grow from here on: Go takes the memory that follows for its own, where the host
// writes what it gives to the functions.
func init() {
	spare = make([]byte, 64<<20)
	spare = nil
	runtime.GC()
}

var spare []byte

//go:wasmexport equal
func equal(a, lengthOfA, b, lengthOfB uint32) uint32 {
	return truth(property.EqualText(text(a, lengthOfA), text(b, lengthOfB)))
}

//go:wasmexport compare
func compare(a, lengthOfA, b, lengthOfB uint32) uint32 {
	return uint32(property.CompareText(text(a, lengthOfA), text(b, lengthOfB)))
}

// index looks for b in the first n of a and b.
//
//go:wasmexport index
func index(a, lengthOfA, b, lengthOfB, n uint32) uint32 {
	list := [...]property.Entry{{Key: text(a, lengthOfA)}, {Key: text(b, lengthOfB)}}
	return uint32(property.IndexText(&list[0].Key, unsafe.Sizeof(list[0]), int(n), list[1].Key))
}

// seek looks for b in the entries of a map of both, from a place on.
//
//go:wasmexport seek
func seek(a, lengthOfA, b, lengthOfB, from uint32) uint32 {
	key := text(b, lengthOfB)
	m := property.NewMap(property.Entry{Key: text(a, lengthOfA)}, property.Entry{Key: key})
	return uint32(property.SeekKey(m.Entries(), int(from), key))
}

//go:wasmexport valid
func valid(a, length uint32) uint32 { return truth(property.ValidText(text(a, length))) }

// open returns the fault of any bytes, 0 for an encoding.
//
//go:wasmexport open
func open(a, length uint32) uint32 {
	_, err := guestcbor.OpenTrustedValue(unsafe.Slice((*byte)(unsafe.Add(nil, uintptr(a))), length))
	if refused, ok := err.(*property.DecodeError); ok {
		return uint32(refused.Fault)
	}
	return 0
}

func text(at, length uint32) string {
	return unsafe.String((*byte)(unsafe.Add(nil, uintptr(at))), length)
}

func truth(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
