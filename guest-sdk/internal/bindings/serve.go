//go:build wasip1

package bindings

import (
	"context"
	"runtime"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
)

// What the module serves. Exports are global to a module, so this is too.
var (
	provider  abi.Provider
	firstCall func()
	// answer keeps the answer in memory until the host has read it.
	answer *frame
)

// Serve sets the provider that answers from now on.
func Serve(p abi.Provider) { provider = p }

// OnFirstCall sets what runs once, before the first call is answered. A WASI reactor
// has no main that runs by itself, and code that runs as the module is initialized
// may run long before there is a configuration.
func OnFirstCall(f func()) { firstCall = f }

// serve answers a call of an export and returns the address of the result.
func serve(function int, args ...uint64) uint32 {
	if f := firstCall; f != nil {
		firstCall = nil
		f()
	}
	if provider == nil {
		panic("the module serves no provider")
	}
	answer = &frame{}
	ptr, err := canon.ServeProvider(context.Background(), provider, function, answer, args, recovered)
	if err != nil {
		panic(err) // the host broke the ABI: there is nobody to tell
	}
	return ptr
}

// release frees the answer, and what the host sent but nobody read.
func release() {
	answer = nil
	received.Lock()
	clear(received.blocks)
	received.Unlock()
}

// maxStack bounds the stack trace that a panic prints, in bytes.
const maxStack = 16 << 10

// recovered makes an answer of a panic in the provider. The stack goes to standard
// error, which the host logs.
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
