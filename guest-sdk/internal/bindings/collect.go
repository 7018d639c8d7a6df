//go:build wasip1 && !go1.28

package bindings

import _ "unsafe" // for go:linkname

// Both names below belong to Go's runtime, and were tried with the releases that the build tag
// allows. collect_untried.go is built with later ones.

// writeBarrier is not 0 while the garbage collector marks: each stored pointer
// is reported to it. The runtime keeps this name and type for those who link to it.
//
//go:linkname writeBarrier runtime.writeBarrier
var writeBarrier uint32

// setGCPercent is runtime/debug.SetGCPercent, without the rest of that package, which would
// bring fmt and os into each module.
//
//go:linkname setGCPercent runtime/debug.setGCPercent
func setGCPercent(percent int32) int32

// finishMarking lets the garbage collector finish marking, if it has begun. It would do that beside the program, but a module
// runs during calls alone, and a call is over before the collector gets to it: a fifth of all calls would pay for stores of
// pointers, several times what it costs to mark. Nothing else of the collector's work is hurried.
func finishMarking() {
	if writeBarrier != 0 {
		setGCPercent(setGCPercent(-1)) // to turn the collector off waits for it
	}
}
