//go:build wasip1

package main

import (
	"runtime"
	_ "unsafe" // for go:linkname
)

//go:linkname writeBarrier runtime.writeBarrier
var writeBarrier uint32

// marking is not 0 while the garbage collector marks.
//
//go:wasmexport marking
func marking() uint32 { return writeBarrier }

// collections is how often it has finished.
//
//go:wasmexport collections
func collections() uint32 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.NumGC
}
