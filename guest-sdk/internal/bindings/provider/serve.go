//go:build wasip1

package provider

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
)

// served is what the module serves. Exports are global to a module, so this is too.
var served abi.Provider

// Serve sets the provider that serves calls from now on.
func Serve(p abi.Provider) { served = p }

func serve(ctx context.Context, s *canon.Server, function int, mem canon.Memory, params []byte) (uint32, error) {
	if served == nil {
		panic("the module serves no provider")
	}
	return s.ServeProvider(ctx, served, function, mem, params)
}
