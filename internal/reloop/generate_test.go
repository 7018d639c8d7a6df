package reloop_test

import (
	"strings"

	. "github.com/husk-dev/husk/internal/wasmtest"
)

// Functions of the tests' module. The first two are imported: tell is told numbers, and choose
// answers some. called answers what choose does, and flow is of the form that is rewritten.
const (
	tell = iota
	choose
	called
	flowing
	functions
)

// Local variables of flow.
const (
	parameter = iota
	stack     // where Go has its stack pointer
	long
)

func module(flow string) Module {
	number := Type{Params: I32, Results: I32}
	return Module{
		Types:   []Type{{Params: I32}, {Results: I32}, number},
		Imports: []Import{{Module: "test", Name: "tell", Type: 0}, {Module: "test", Name: "choose", Type: 1}},
		Functions: []Function{
			{Type: 2, Code: I32Const(-1) + Call(tell) + Call(choose) + I32Const(7) + I32Eq},
			{Type: 2, Locals: I32 + I64, Code: flow},
		},
		Globals: []Global{{Type: I32[0], Mutable: true, Init: I32Const(64)}},
		Exports: []Export{{Name: "flow", Index: flowing}},
	}
}

const (
	I32Eq      = "\x46"
	I32Extend  = "\xad" // i64.extend_i32_u
	I64Wrap    = "\xa7" // i32.wrap_i64
	I64Eqz     = "\x50"
	opI32Ne    = 0x47
	opI64Ne    = 0x52
	compares   = 9                  // from ne on
	setPointer = "\x23\x00\x21\x01" // global.get 0, local.set stack
)

// generator makes functions of the form that Go's compiler gives them, by choices.
type generator struct {
	choices        []byte
	regions        int
	loops, unwinds bool
	region, inside int
	tells          int32
}

func (g *generator) choose(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	c := int(g.choices[0]) % n
	g.choices = g.choices[1:]
	return c
}

// function answers the code.
func (g *generator) function() string {
	g.regions, g.loops, g.unwinds = 1+g.choose(8), g.choose(8) > 0, g.choose(8) > 0
	out := setPointer
	if g.unwinds {
		out += Block
	}
	if g.loops {
		out += Loop
	}
	out += strings.Repeat(Block, g.regions) + LocalGet(parameter) + "\x0e"
	// A region may have several entries; the last is for all other parameters.
	entries := []string{"\x00"}
	for region := 0; region < g.regions; {
		entries = append(entries, Unsigned(uint64(region)))
		if g.choose(4) < 3 {
			region++
		}
	}
	if last := Unsigned(uint64(g.regions - 1)); entries[len(entries)-1] != last {
		entries = append(entries, last)
	}
	out += Unsigned(uint64(len(entries)-1)) + strings.Join(entries, "") + End
	for g.region = range g.regions {
		for range g.choose(6) {
			out += g.statement(3)
		}
		switch g.choose(4) {
		case 0:
			out += g.jump()
		case 1:
			out += I32Const(0) + Return
		}
		if g.region < g.regions-1 || g.loops {
			out += End
		}
	}
	out += Unreachable
	if g.unwinds {
		out += End
	}
	return out + I32Const(1)
}

func (g *generator) statement(depth int) string {
	switch g.choose(9) {
	case 0:
		return g.jump()
	case 1, 2, 3:
		if depth == 0 {
			break
		}
		out := g.condition() + If
		g.inside++
		out += g.statement(depth - 1)
		if g.choose(2) == 0 {
			out += g.jump()
		}
		if g.choose(3) == 0 {
			out += Else + g.statement(depth-1)
		}
		g.inside--
		return out + End
	case 4:
		if g.unwinds {
			return I32Const(0) + Call(called) + BrIf(g.unwinding())
		}
	case 5: // a scratch variable, as for the call of a closure
		return Call(choose) + LocalSet(parameter) + I32Const(3) + LocalGet(parameter) + I32Add + Call(tell)
	case 6: // a place on the stack
		return LocalGet(stack) + I32Extend + I64Const(int64(g.choose(256))<<g.choose(56)-64) + I64Add + I64Wrap + Call(tell)
	case 7:
		if after := g.regions - 1 - g.region; after > 0 {
			return g.condition() + BrIf(uint32(g.inside+g.choose(after)))
		}
	}
	g.tells++
	return I64Const(int64(g.tells)) + I64Wrap + Call(tell)
}

func (g *generator) unwinding() uint32 {
	label := g.inside + g.regions - 1 - g.region
	if g.loops {
		label++
	}
	return uint32(label)
}

// jump goes on with another region.
func (g *generator) jump() string {
	after := g.regions - 1 - g.region
	if g.loops { // each turn tells something, of which there is an end
		return I32Const(-2) + Call(tell) + I32Const(int32(g.choose(g.regions+3))) + LocalSet(parameter) + Br(uint32(g.inside+after))
	}
	if after > 0 {
		return Br(uint32(g.inside + g.choose(after)))
	}
	return ""
}

// condition is one of what is chosen when the function runs, written as Go does and otherwise.
func (g *generator) condition() string {
	negations := strings.Repeat(I32Eqz, g.choose(4))
	switch g.choose(4) {
	case 0:
		return Call(choose) + I32Const(int32(g.choose(4))) + string([]byte{byte(opI32Ne + g.choose(compares))}) + negations
	case 1:
		return Call(choose) + I32Extend + I64Const(int64(g.choose(4))) + string([]byte{byte(opI64Ne + g.choose(compares))}) + negations
	case 2:
		return Call(choose) + I32Extend + I64Eqz + negations
	}
	return Call(choose) + I32Extend + LocalSet(long) + LocalGet(long) + I64Eqz + negations
}
