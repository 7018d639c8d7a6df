// Package flowtest makes modules for tests of rewritten control flow, and observes what they do.
// Their functions have the form of Go's compiler, or a similar and odd one.
package flowtest

import wasm "github.com/husk-dev/husk/internal/wasmtest"

// Functions of a module. The first two are imported: Tell takes numbers, and Choose returns some.
// Called returns what Choose makes of it, and Flow may be rewritten.
const (
	Tell = iota
	Choose
	Called
	Flow
	// Functions is how many there are.
	Functions
)

// Local variables of Flow.
const (
	Parameter = iota
	Stack     // which Go's compiler sets to its stack pointer
	Long      // of 64 bits
	Other
)

const (
	// two is the type of blocks that take a number and return two.
	two = 3
	// pointer and counter are globals.
	pointer, counter = 0, 1
)

// Around returns a module whose function Flow has the code.
func Around(code string) wasm.Module {
	return wasm.Module{
		Types:   []wasm.Type{{Params: wasm.I32}, {Results: wasm.I32}, {Params: wasm.I32, Results: wasm.I32}, {Params: wasm.I32, Results: wasm.I32 + wasm.I32}},
		Imports: []wasm.Import{{Module: "test", Name: "tell", Type: 0}, {Module: "test", Name: "choose", Type: 1}},
		Functions: []wasm.Function{
			{Type: 2, Code: wasm.I32Const(-1) + wasm.Call(Tell) + wasm.Call(Choose) + wasm.I32Const(7) + wasm.I32Eq},
			{Type: 2, Locals: wasm.I32 + wasm.I64 + wasm.I32, Code: code},
		},
		Memories: []string{wasm.Limits(1, 1)},
		Globals: []wasm.Global{
			{Type: wasm.I32[0], Mutable: true, Init: wasm.I32Const(64)},
			{Type: wasm.I32[0], Mutable: true, Init: wasm.I32Const(0)},
		},
		Exports: []wasm.Export{{Name: "flow", Index: Flow}, {Name: "memory", Kind: wasm.KindMemory}},
	}
}
