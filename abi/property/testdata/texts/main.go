// Command texts offers the functions for texts of a guest to its host.
package main

import (
	"unsafe"

	"github.com/husk-dev/husk/abi/property"
)

func main() {}

//go:wasmexport equal
func equal(a, lengthOfA, b, lengthOfB uint32) uint32 {
	return truth(property.EqualText(text(a, lengthOfA), text(b, lengthOfB)))
}

//go:wasmexport compare
func compare(a, lengthOfA, b, lengthOfB uint32) uint32 {
	return uint32(property.CompareText(text(a, lengthOfA), text(b, lengthOfB)))
}

//go:wasmexport valid
func valid(a, length uint32) uint32 { return truth(property.ValidText(text(a, length))) }

func text(at, length uint32) string {
	return unsafe.String((*byte)(unsafe.Add(nil, uintptr(at))), length)
}

func truth(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
