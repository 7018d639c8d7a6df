//go:build wasip1

package bindings

import (
	"runtime"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
)

// Exports are global to a module, so this is too.
var (
	firstCall func()
	// answer is the frame of an export's call, which are served one at a time.
	answer frame
	server = canon.Server{Recovered: recovered, Own: &own}
	// own has the arena. It keeps the response in memory until the next call.
	own = canon.Own{Codec: &answer.codec}
)

// OnFirstCall sets what runs once, before the first call. A WASI reactor has no main that runs by
// itself, and initialization may run long before there is a configuration.
func OnFirstCall(f func()) { firstCall = f }

// begin does what runs once, if it has not run yet.
func begin() {
	if f := firstCall; f != nil {
		firstCall = nil
		f()
	}
}

// Begin begins a call of an export, and returns its server and its memory.
func Begin() (*canon.Server, canon.Memory) {
	if firstCall != nil {
		begin()
	}
	Release()
	return &server, &answer
}

// End ends a call, and returns the address of the result.
func End(address uint32, err error) uint32 {
	if err != nil {
		panic(err) // the host broke the ABI: there is nobody to tell
	}
	if arena.chunk != nil && arena.end-arena.free < leastFree {
		renew()
	}
	if len(received.blocks) > 0 {
		forget()
	}
	finishMarking()
	return address
}

// Release frees the answer.
func Release() {
	own.Release()
	answer.codec.begin()
}

// forget frees what the host sent but nobody read.
func forget() {
	received.Lock()
	clear(received.blocks)
	received.blocks = received.blocks[:0]
	received.Unlock()
}

// maxStack bounds the stack trace that a panic prints, in bytes.
const maxStack = 16 << 10

// recovered returns a panic as an error. The stack goes to standard error, which the host logs.
func recovered(p any) error {
	text := panicText(p)
	stack := make([]byte, maxStack)
	print("panic: ", text, "\n", string(stack[:runtime.Stack(stack, false)]))
	return abi.NewError(abi.ErrorKindCrashed, "panic: "+text)
}

func panicText(p any) string {
	switch p := p.(type) {
	case error:
		return p.Error()
	case string:
		return p
	case interface{ String() string }:
		return p.String()
	}
	return "a value that is neither an error nor a string"
}
