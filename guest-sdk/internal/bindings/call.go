//go:build wasip1

package bindings

import (
	"context"

	"github.com/husk-dev/husk/abi/canon"
)

// caller calls the functions of one interface that the module imports.
type caller func(function int, args []uint64) uint64

func (c caller) Begin(_ context.Context, f *canon.Function) canon.Frame {
	return &importFrame{caller: c, function: f.Index}
}

type importFrame struct {
	frame
	caller   caller
	function int
}

func (f *importFrame) Imported() bool { return true }

func (f *importFrame) Call(args []uint64) (uint64, error) {
	return f.caller(f.function, args), nil
}

func (f *importFrame) End(error) {}
