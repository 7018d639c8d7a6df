// Package flowtest makes modules for tests of what rewrites the control flow of functions, and
// observes what they do. Their functions have the form that Go's compiler gives to its own, or look
// like it and are odd in some way.
package flowtest

import . "github.com/husk-dev/husk/internal/wasmtest"

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
func Around(code string) Module {
	return Module{
		Types:   []Type{{Params: I32}, {Results: I32}, {Params: I32, Results: I32}, {Params: I32, Results: I32 + I32}},
		Imports: []Import{{Module: "test", Name: "tell", Type: 0}, {Module: "test", Name: "choose", Type: 1}},
		Functions: []Function{
			{Type: 2, Code: I32Const(-1) + Call(Tell) + Call(Choose) + I32Const(7) + I32Eq},
			{Type: 2, Locals: I32 + I64 + I32, Code: code},
		},
		Memories: []string{Limits(1, 1)},
		Globals: []Global{
			{Type: I32[0], Mutable: true, Init: I32Const(64)},
			{Type: I32[0], Mutable: true, Init: I32Const(0)},
		},
		Exports: []Export{{Name: "flow", Index: Flow}, {Name: "memory", Kind: KindMemory}},
	}
}
