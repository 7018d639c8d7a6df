// Package relooper restores loops and branches in functions that Go's compiler has made.
//
// A Go function in WebAssembly can be entered in its middle, so that goroutines can change during
// a call: a parameter selects the place. Go therefore writes a function as one loop around a jump
// table, and each jump repeats that loop. A jump then costs a look-up in the table, values pass
// between regions through memory, and each repetition takes fuel for the whole function.
//
// Nearly every call enters a function at its start. The relooper gives a function two bodies. The
// original body becomes a copy at the end of the module and serves entries in the middle. The
// function itself gets the same code with blocks, loops, and direct branches in place of the
// table. If its parameter is not 0, it calls the copy. All state is in memory and globals, as
// before, so each body can continue what the other began.
//
// A rewritten function behaves as before, whoever wrote it. A function without the form at [flow]
// stays. The form alone proves nothing, so package equivalence proves each rewritten function
// equal; without a proof the original stays. The copies are validated like all functions, so an
// invalid module never becomes a valid one.
package relooper

import (
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/equivalence"
	"github.com/husk-dev/husk/internal/wasmfile"
)

// Version changes with the output of [Rewrite]. It is part of the key of each cached module.
const Version = "3." + equivalence.Version

// Rewrite rewrites the functions of a module for whose index chosen reports true, if they have the
// form and the rewritten function is proven equal. It returns nil if there is none, or the result
// exceeds the limits. The copies come after all functions. copied lists the indexes of their
// originals in the same order.
func Rewrite(m *wasmfile.Module, limits wasmfile.Limits, chosen func(function int) bool) (rewritten *wasmfile.Module, copied []int) {
	refused := make(map[int]bool)
	for {
		wasm, copied := propose(m, func(function int) bool { return chosen(function) && !refused[function] })
		if wasm == nil {
			return nil, nil
		}
		rewritten, err := wasmfile.Read(wasm, limits)
		if err != nil {
			return nil, nil
		}
		unproven, err := equivalence.Check(m, rewritten)
		if err != nil {
			return nil, nil
		}
		if len(unproven) == 0 {
			return rewritten, copied
		}
		for _, function := range unproven {
			refused[function] = true
		}
	}
}

// propose rewrites functions without a proof.
func propose(m *wasmfile.Module, chosen func(function int) bool) (wasm []byte, copied []int) {
	x := wasmfile.Extension{Code: make([][]byte, len(m.Bodies))}
	for i := range m.Bodies {
		function := m.ImportedFunctions + i
		if !resumable(m.Types[m.Functions[function]]) || !chosen(function) {
			continue
		}
		if f := read(m, i); f != nil {
			copyOf := len(m.Functions) + len(copied)
			if x.Code[i] = f.write(uint32(copyOf)); x.Code[i] != nil {
				copied = append(copied, function)
				x.Functions = append(x.Functions, wasmfile.AddedFunction{Like: uint32(function)})
			}
		}
	}
	if copied == nil {
		return nil, nil
	}
	return m.Extend(x), copied
}

// resumable reports whether functions of a type may be Go's.
func resumable(t wasmfile.FuncType) bool {
	i32 := []api.ValueType{api.ValueTypeI32}
	return slices.Equal(t.Params, i32) && slices.Equal(t.Results, i32)
}
