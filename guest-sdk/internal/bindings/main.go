//go:build wasip1

package bindings

import _ "unsafe" // for go:linkname

// -buildmode=c-shared makes a reactor, which has no entry point: nothing calls main. RunMain has it called before the module's
// first call is answered. The linkname needs an assembly file in the package, empty as it may be.
//
//go:linkname mainMain main.main
func mainMain()

var (
	// called is true once the host has called in. It is global because a module is a process of its own.
	called bool
	// settled has an element once main has returned, or serves for good.
	settled = make(chan struct{}, 2)
)

// RunMain has the program's main called before the first call is answered. Main runs in a goroutine of
// its own, which [Stay] stops for good.
func RunMain() {
	OnFirstCall(func() {
		called = true
		go runMain()
		<-settled
	})
}

func runMain() {
	defer func() { settled <- struct{}{} }() // also if it ends the goroutine
	mainMain()
}

// Stay lets calls be answered, and never returns. Later statements of main, such as to exit with the server's status, would end
// the instance.
func Stay() {
	select {
	case settled <- struct{}{}:
	default: // it serves again
	}
	select {}
}

// Called reports whether the host has called in. In a program it never does.
func Called() bool { return called }

// prepare does before any call what would else be done in the first one. It is named as
// the tool Wizer names it: a host may call it once, and begin each instance with the
// memory that it leaves.
//
//go:wasmexport wizer-initialize
func prepare() { begin() }
