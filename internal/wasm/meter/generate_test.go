package meter_test

import (
	"strings"

	. "github.com/husk-dev/husk/internal/testkit/wasmtest"
)

// generate makes a valid module of any bytes, which decide what is in it; its function
// f ends by itself. Every byte string gives a module.
func generate(choices []byte) Module {
	g := &generator{choices: choices}
	m := Module{
		Types:    []Type{{Params: I32 + I64, Results: I32}},
		Tables:   []string{Funcref + Limits(4, 8)},
		Memories: []string{Limits(1, 3)},
		Globals: []Global{
			{Type: I32[0], Mutable: true, Init: I32Const(int32(g.choose(256)))},
			{Type: I64[0], Mutable: true, Init: I64Const(-7)},
		},
		Exports: []Export{{Name: "f", Kind: KindFunction}, {Name: "memory", Kind: KindMemory}},
		Data:    []Data{{Offset: 16, Content: "some data"}, {Offset: 64, Content: "and more"}, {Offset: 4096, Content: "far away"}},
	}
	g.functions = 1 + g.choose(4)
	for i := range g.functions {
		g.current = i
		m.Functions = append(m.Functions, Function{Locals: I32 + I64 + strings.Repeat(I32, loopDepth), Code: g.statements(4) + g.statements(4) + g.i32(3)})
	}
	// The last function calls no other one, so that calls through the table end.
	last := uint32(g.functions - 1)
	m.Elements = []uint32{last, last}
	return m
}

// loopDepth is how many loops there can be in each other. Each has a counter.
const loopDepth = 2

// Local variables of functions: two parameters, two more, and the counters of loops.
const (
	intLocals  = 0 // and 2
	longLocals = 1 // and 3
	counters   = 4
)

type generator struct {
	choices            []byte
	functions, current int
	loops              int
	// size bounds the code of all functions.
	size int
}

const maxGenerated = 4000

func (g *generator) choose(n int) int {
	g.size++
	if len(g.choices) == 0 || g.size > maxGenerated {
		return 0
	}
	c := int(g.choices[0]) % n
	g.choices = g.choices[1:]
	return c
}

func (g *generator) statements(depth int) string {
	var b strings.Builder
	for range 1 + g.choose(4) {
		b.WriteString(g.statement(depth))
	}
	return b.String()
}

func (g *generator) statement(depth int) string {
	if depth == 0 {
		return ""
	}
	address := func() string { return g.i32(depth-1) + I32Const(0xfff) + "\x71" } // i32.and
	switch g.choose(16) {
	case 0:
		return Nop
	case 1:
		return g.i32(depth-1) + LocalSet(intLocals+2*uint32(g.choose(2)))
	case 2:
		return g.i64(depth-1) + LocalSet(longLocals+2*uint32(g.choose(2)))
	case 3:
		return g.i32(depth-1) + GlobalSet(0)
	case 4:
		return g.i64(depth-1) + GlobalSet(1)
	case 5:
		return address() + g.i32(depth-1) + I32Store
	case 6:
		return g.i32(depth-1) + If + g.statements(depth-1) + End
	case 7:
		return g.i32(depth-1) + If + g.statements(depth-1) + Else + g.statements(depth-1) + End
	case 8:
		return Block + g.statements(depth-1) + g.i32(depth-1) + BrIf(0) + g.statements(depth-1) + End
	case 9:
		return g.loop(depth)
	case 10: // a value and a length that the code holds, or may not
		value, length := g.i32(0), I32Const(int32(g.choose(200)))
		if g.choose(2) == 0 {
			length += I32Const(int32(g.choose(100))) + I32Add
		}
		return address() + value + length + MemoryFill
	case 11:
		return address() + address() + I32Const(int32(g.choose(200))) + MemoryCopy
	case 12:
		return I32Const(int32(g.choose(2))) + MemoryGrow + Drop
	case 13:
		// A jump table of three targets.
		return Block + Block + Block + g.i32(depth-1) + "\x0e\x02\x00\x01\x02" + End + g.statements(depth-1) + End + g.statements(depth-1) + End
	case 14:
		return RefNull + I32Const(int32(g.choose(3))) + TableGrow + Drop
	}
	return g.i32(depth-1) + If + g.i32(depth-1) + Return + End
}

// loop makes a loop that takes at most four turns.
func (g *generator) loop(depth int) string {
	if g.loops == loopDepth {
		return Nop
	}
	counter := uint32(counters + g.loops)
	g.loops++
	defer func() { g.loops-- }()
	return I32Const(int32(1+g.choose(4))) + LocalSet(counter) +
		Loop + g.statements(depth-1) +
		LocalGet(counter) + I32Const(1) + I32Sub + LocalTee(counter) + BrIf(0) + End
}

func (g *generator) i32(depth int) string {
	if depth == 0 {
		switch g.choose(3) {
		case 0:
			return LocalGet(intLocals + 2*uint32(g.choose(2)))
		case 1:
			return GlobalGet(0)
		}
		return I32Const(int32(g.choose(256)) - 128)
	}
	switch n := g.choose(24); n {
	case 0, 1, 2:
		return g.i32(0)
	case 3:
		return g.i32(depth-1) + I32Eqz
	case 4:
		return g.i64(depth-1) + "\xa7" // i32.wrap_i64
	case 5:
		return g.i32(depth-1) + I32Const(0xffff) + "\x71" + I32Load
	case 6:
		return g.i32(depth-1) + I32Load // may lie beyond memory
	case 7:
		return "\x3f\x00" // memory.size
	case 8:
		// Calls in loops are of the last function, so that not everything takes long.
		if g.current+1 < g.functions && (g.loops == 0 || g.current+2 == g.functions) {
			callee := g.current + 1 + g.choose(g.functions-g.current-1)
			return g.i32(depth-1) + g.i64(depth-1) + Call(uint32(callee))
		}
	case 9:
		if g.current+1 < g.functions { // elements 2 and 3 are null
			return g.i32(depth-1) + g.i64(depth-1) + I32Const(int32(g.choose(4))) + CallIndirect(0)
		}
	case 10:
		return g.i32(depth-1) + g.i32(depth-1) + g.i32(depth-1) + Select
	case 11:
		return g.f64(depth-1) + "\xfc\x02" // i32.trunc_sat_f64_s
	case 12:
		return g.i32(depth-1) + If[:1] + I32 + g.i32(depth-1) + Else + g.i32(depth-1) + End
	case 13, 14:
		return g.i64(depth-1) + g.i64(depth-1) + string([]byte{byte(0x51 + g.choose(10))}) // comparisons
	default:
		op := 0x6a + g.choose(15) // arithmetic
		if op >= 0x6d && op <= 0x70 && g.choose(4) > 0 {
			op = 0x6a // most divisions would be by zero
		}
		return g.i32(depth-1) + g.i32(depth-1) + string([]byte{byte(op)})
	}
	return g.i32(0)
}

func (g *generator) i64(depth int) string {
	if depth == 0 {
		switch g.choose(3) {
		case 0:
			return LocalGet(longLocals + 2*uint32(g.choose(2)))
		case 1:
			return GlobalGet(1)
		}
		return I64Const(int64(g.choose(256))<<g.choose(56) - 5)
	}
	switch g.choose(5) {
	case 0:
		return g.i64(0)
	case 1:
		return g.i32(depth-1) + "\xac" // i64.extend_i32_s
	case 2:
		return g.i32(depth-1) + If[:1] + I64 + g.i64(depth-1) + Else + g.i64(depth-1) + End
	}
	op := 0x7c + g.choose(15)
	if op >= 0x7f && op <= 0x82 && g.choose(4) > 0 {
		op = 0x7c
	}
	return g.i64(depth-1) + g.i64(depth-1) + string([]byte{byte(op)})
}

// f64 makes numbers that are only looked at by conversions, in which the bits of a
// number that is none do not matter.
func (g *generator) f64(depth int) string {
	if depth == 0 || g.choose(3) == 0 {
		return g.i32(0) + "\xb7" // f64.convert_i32_s
	}
	return g.f64(depth-1) + g.f64(depth-1) + string([]byte{byte(0xa0 + g.choose(4))})
}
