//go:build wasip1

package policy

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
)

// served is the policy pack that the module serves. Exports are global to a module, so this is too.
var served abi.Policy

// Serve sets the policy pack that serves calls from now on.
func Serve(p abi.Policy) { served = p }

// answer has an export's call answered and returns the address of the result.
func answer(function int, params []byte) uint32 {
	server, memory := bindings.Begin()
	if served == nil {
		panic("the module serves no policy pack")
	}
	return bindings.End(server.ServePolicy(context.Background(), served, function, memory, params))
}
