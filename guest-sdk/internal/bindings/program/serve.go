//go:build wasip1

package program

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
)

// served is the program that the module serves. Exports are global to a module, so this is too.
var served abi.Program

// Serve sets the program that serves calls from now on.
func Serve(p abi.Program) { served = p }

// answer has an export's call answered and returns the address of the result.
func answer(function int, params []byte) uint32 {
	server, memory := bindings.Begin()
	if served == nil {
		panic("the module serves no program")
	}
	return bindings.End(server.ServeProgram(context.Background(), served, function, memory, params))
}
