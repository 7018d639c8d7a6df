//go:build wasip1

package bindings

import _ "unsafe" // for go:linkname

// A reactor, which is what -buildmode=c-shared makes, has no entry point: nothing
// calls main. RunMain has it called before the module's first call is answered. The
// linkname needs an assembly file in the package, empty as it may be.
//
//go:linkname mainMain main.main
func mainMain()

// called is true once the host has called in. It is global because a module is a process of its own.
var called bool

// RunMain has the program's main called before the first call is answered.
func RunMain() {
	OnFirstCall(func() {
		called = true
		mainMain()
	})
}

// Called reports whether the host has called in. In a program it never does.
func Called() bool { return called }

// prepare does before any call what would else be done in the first one. It is named as
// the tool Wizer names it: a host may call it once, and begin each instance with the
// memory that it leaves.
//
//go:wasmexport wizer-initialize
func prepare() { begin() }
