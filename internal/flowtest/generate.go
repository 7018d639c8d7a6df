package flowtest

import (
	"slices"
	"strings"

	wasm "github.com/husk-dev/husk/internal/wasmtest"
)

// Generate returns the code of a function that the choices define, and the number of its regions.
// All choices give valid code. The first one says how odd the function is: 0 is a function like
// those of Go's compiler.
func Generate(choices []byte) (code string, regions int) {
	g := &generator{choices: choices}
	g.oddness = []int{0, 40, 8}[g.choose(3)]
	return g.function(), g.regions
}

type generator struct {
	choices []byte
	// oddness is the inverse share of odd things, 0 for none.
	oddness        int
	regions        int
	loops, unwinds bool
	region         int
	// labels has the arity of the label of each open block, outermost first.
	labels []int
	// dispatch and outer are the labels of the loop and of the block around it, or -1.
	dispatch, outer int
	tells           int32
	size            int
}

// largest bounds the code.
const largest = 1500

// choose returns a number below n.
func (g *generator) choose(n int) int {
	g.size++
	if len(g.choices) == 0 || g.size > largest {
		return 0
	}
	c := int(g.choices[0]) % n
	g.choices = g.choices[1:]
	return c
}

func (g *generator) odd() bool { return g.oddness > 0 && g.choose(g.oddness) == 1 }

// label returns the label of a block by the number of blocks around it.
func (g *generator) label(block int) uint32 { return uint32(len(g.labels) - 1 - block) }

// within writes code in a block whose label has an arity.
func (g *generator) within(begin string, arity int, code func() string) string {
	g.labels = append(g.labels, arity)
	out := begin + code()
	g.labels = g.labels[:len(g.labels)-1]
	return out + wasm.End
}

func (g *generator) function() string {
	g.regions, g.loops, g.unwinds = 1+g.choose(8), g.choose(8) > 0, g.choose(8) > 0
	g.labels, g.dispatch, g.outer = []int{1}, -1, -1
	out := wasm.GlobalGet(pointer) + wasm.LocalSet(Stack)
	if g.odd() {
		out += g.statement(2)
	}
	if g.odd() {
		return out + wasm.I32Const(9) + g.outerBlock() + wasm.Drop + g.number(1) // with a number below the blocks
	}
	return out + g.outerBlock() + g.rest()
}

// rest writes the code after the outer block.
func (g *generator) rest() string {
	switch {
	case g.odd():
		return wasm.LocalGet(Parameter)
	case g.odd():
		return g.statement(2) + g.number(2)
	}
	return wasm.I32Const(1)
}

func (g *generator) outerBlock() string {
	if !g.unwinds {
		return g.loop()
	}
	if g.odd() { // which leaves with a number
		return g.within(wasm.Block[:1]+wasm.I32, 1, func() string { return g.inside(&g.outer, g.loop) + g.number(0) }) + wasm.Call(Tell)
	}
	return g.within(wasm.Block, 0, func() string { return g.inside(&g.outer, g.loop) })
}

func (g *generator) loop() string {
	if !g.loops {
		return g.table() + g.afterRegions()
	}
	return g.within(wasm.Loop, 0, func() string {
		return g.inside(&g.dispatch, func() string {
			if g.odd() {
				return g.statement(1) + g.table()
			}
			return g.table()
		})
	}) + g.afterRegions()
}

// inside writes code in a known block.
func (g *generator) inside(block *int, code func() string) string {
	*block = len(g.labels) - 1
	out := code()
	*block = -1
	return out
}

func (g *generator) afterRegions() string {
	if g.odd() {
		return g.statement(1)
	}
	return wasm.Unreachable
}

// table writes the jump table and the regions.
func (g *generator) table() string {
	around := len(g.labels)
	for range g.regions {
		g.labels = append(g.labels, 0)
	}
	out := strings.Repeat(wasm.Block, g.regions) + g.selector() + wasm.BrTable(g.entries(around)...) + wasm.End
	g.labels = g.labels[:len(g.labels)-1]
	for g.region = range g.regions {
		for range g.choose(6) {
			out += g.statement(3)
		}
		switch g.choose(4) {
		case 0:
			out += g.jump()
		case 1:
			out += g.number(0) + wasm.Return
		}
		if g.region < g.regions-1 {
			out += wasm.End
			g.labels = g.labels[:len(g.labels)-1]
		}
	}
	return out
}

func (g *generator) selector() string {
	switch {
	case g.odd():
		return g.number(1)
	case g.odd():
		return wasm.LocalGet(Parameter) + wasm.I32Const(1) + wasm.I32Add
	}
	return wasm.LocalGet(Parameter)
}

// entries returns the labels of the jump table. A region may have several. The last label is for all
// other parameters.
func (g *generator) entries(around int) []uint32 {
	entries := []uint32{0}
	for region := 0; region < g.regions; {
		entries = append(entries, uint32(region))
		if g.choose(4) < 3 {
			region++
		}
	}
	if last := uint32(g.regions - 1); entries[len(entries)-1] != last {
		entries = append(entries, last)
	}
	for range 2 {
		if g.odd() {
			entries[g.choose(len(entries))] = uint32(g.choose(g.regions))
		}
	}
	if g.odd() { // to where no region is
		if label, ok := g.labelOf(0, func(block int) bool { return block < around && block != g.dispatch }); ok {
			entries[g.choose(len(entries))] = label
		}
	}
	return entries
}

// labelOf chooses a label with an arity.
func (g *generator) labelOf(arity int, fits func(block int) bool) (uint32, bool) {
	var fitting []uint32
	for block, takes := range g.labels {
		if takes == arity && fits(block) {
			fitting = append(fitting, g.label(block))
		}
	}
	if len(fitting) == 0 {
		return 0, false
	}
	return fitting[g.choose(len(fitting))], true
}

func anywhere(int) bool { return true }

func (g *generator) statement(depth int) string {
	if g.odd() {
		return g.oddStatement(depth)
	}
	switch g.choose(9) {
	case 0:
		return g.jump()
	case 1, 2, 3:
		if depth == 0 {
			break
		}
		condition := g.condition()
		return g.within(condition+wasm.If, 0, func() string {
			out := g.statement(depth - 1)
			if g.choose(2) == 0 {
				out += g.jump()
			}
			if g.choose(3) == 0 {
				out += wasm.Else + g.statement(depth-1)
			}
			return out
		})
	case 4:
		if g.outer >= 0 && g.labels[g.outer] == 0 {
			return wasm.I32Const(0) + wasm.Call(Called) + wasm.BrIf(g.label(g.outer))
		}
	case 5: // a scratch variable, as for the call of a closure
		return wasm.Call(Choose) + wasm.LocalSet(Parameter) + wasm.I32Const(3) + wasm.LocalGet(Parameter) + wasm.I32Add + wasm.Call(Tell)
	case 6: // a place on the stack
		return wasm.LocalGet(Stack) + wasm.I64ExtendI32U + wasm.I64Const(int64(g.choose(256))<<g.choose(56)-64) + wasm.I64Add + wasm.I32WrapI64 + wasm.Call(Tell)
	case 7:
		if label, ok := g.labelOf(0, func(block int) bool { return block > max(g.dispatch, 0) }); ok {
			return g.condition() + wasm.BrIf(label)
		}
	}
	g.tells++
	return wasm.I64Const(int64(g.tells)) + wasm.I32WrapI64 + wasm.Call(Tell)
}

// jump goes on with another region.
func (g *generator) jump() string {
	if g.dispatch >= 0 { // each turn tells something, of which there is an end
		out := wasm.I32Const(-2) + wasm.Call(Tell)
		if g.odd() {
			out = ""
		}
		return out + wasm.I32Const(int32(g.choose(g.regions+3))) + wasm.LocalSet(Parameter) + wasm.Br(g.label(g.dispatch))
	}
	if label, ok := g.labelOf(0, func(block int) bool { return block > max(g.outer, 0) }); ok {
		return wasm.Br(label)
	}
	return ""
}

// oddStatement is unlike those of Go's compiler.
func (g *generator) oddStatement(depth int) string {
	if depth == 0 {
		return wasm.LocalGet(Parameter) + wasm.Call(Tell)
	}
	arity := g.choose(2)
	numbers := g.numbers(arity, depth-1)
	label, ok := g.labelOf(arity, anywhere)
	if !ok {
		numbers, label, arity = g.number(1), 0, 0
		label = g.label(0)
		arity = 1
	}
	switch g.choose(17) {
	case 0:
		return wasm.LocalGet(Parameter) + wasm.Call(Tell)
	case 1:
		return g.number(depth-1) + wasm.LocalSet(Parameter)
	case 2:
		return g.number(depth-1) + wasm.LocalSet(Other)
	case 3:
		return numbers + wasm.Br(label)
	case 4:
		return numbers + g.number(1) + wasm.BrIf(label) + strings.Repeat(wasm.Drop, arity)
	case 5: // a jump table in a region
		labels := []uint32{label}
		for range g.choose(4) {
			if another, ok := g.labelOf(arity, anywhere); ok {
				labels = append(labels, another)
			}
		}
		return numbers + g.number(1) + wasm.BrTable(labels...)
	case 6: // a loop, which may have no end
		told := wasm.I32Const(-3) + wasm.Call(Tell)
		if g.odd() {
			told = wasm.Nop
		}
		return g.within(wasm.Loop, 0, func() string {
			return told + g.statement(depth-1) + g.condition() + wasm.BrIf(0)
		})
	case 7:
		return g.within(wasm.Block, 0, func() string { return g.statement(depth-1) + g.statement(depth-1) })
	case 8:
		return wasm.Unreachable
	case 9:
		return g.number(depth-1) + wasm.Return
	case 10:
		return g.number(1) + wasm.I32Const(0xff) + wasm.I32And + g.number(depth-1) + wasm.I32Store
	case 11:
		return g.number(depth-1) + wasm.GlobalSet(counter)
	case 12: // a block that takes a number and returns two
		out := g.number(depth - 1)
		return out + g.within(wasm.Block[:1]+wasm.Unsigned(two), 2, func() string {
			return g.number(depth-1) + g.condition() + wasm.BrIf(0)
		}) + wasm.I32Add + wasm.Call(Tell)
	case 13: // a jump whose region is computed
		if g.dispatch >= 0 {
			return wasm.I32Const(-2) + wasm.Call(Tell) + g.number(1) + wasm.LocalSet(Parameter) + wasm.Br(g.label(g.dispatch))
		}
	case 14: // a jump under a condition
		if g.dispatch >= 0 {
			return wasm.I32Const(-2) + wasm.Call(Tell) + wasm.I32Const(int32(g.choose(g.regions+1))) + wasm.LocalSet(Parameter) +
				g.number(1) + wasm.BrIf(g.label(g.dispatch))
		}
	case 15: // a jump that leaves something behind
		if g.dispatch >= 0 {
			return g.number(1) + wasm.I32Const(-2) + wasm.Call(Tell) + wasm.I32Const(int32(g.choose(g.regions))) +
				wasm.LocalTee(Parameter) + wasm.Drop + wasm.Br(g.label(g.dispatch))
		}
	}
	return g.number(depth-1) + wasm.Call(Tell)
}

func (g *generator) numbers(n, depth int) string {
	out := ""
	for range n {
		out += g.number(depth)
	}
	return out
}

// number is an expression of 32 bits.
func (g *generator) number(depth int) string {
	if depth == 0 {
		switch g.choose(4) {
		case 0:
			return wasm.Call(Choose)
		case 1:
			if g.odd() {
				return wasm.LocalGet(Parameter)
			}
			return wasm.LocalGet(Other)
		}
		return wasm.I32Const(int32(g.choose(8) - 1))
	}
	switch g.choose(14) {
	case 0:
		return g.number(depth-1) + wasm.I32Eqz
	case 1:
		return g.number(depth-1) + g.number(depth-1) + wasm.I32Add
	case 2:
		return g.number(depth-1) + g.number(depth-1) + wasm.I32Sub
	case 3:
		return g.number(depth-1) + g.number(depth-1) + comparison(wasm.I32Eq[0], g.choose(comparisons))
	case 4:
		return g.long(depth-1) + wasm.I32WrapI64
	case 5:
		return g.long(depth-1) + wasm.I64Eqz
	case 6:
		return g.long(depth-1) + g.long(depth-1) + comparison(wasm.I64Eqz[0]+1, g.choose(comparisons))
	case 7:
		condition := g.condition()
		return g.within(condition+wasm.If[:1]+wasm.I32, 1, func() string { return g.number(depth-1) + wasm.Else + g.number(depth-1) })
	case 8:
		return g.within(wasm.Block[:1]+wasm.I32, 1, func() string {
			return g.number(depth-1) + g.condition() + wasm.BrIf(0) + wasm.Drop + g.number(depth-1)
		})
	case 9:
		return g.number(depth-1) + wasm.I32Const(0x1ffff) + wasm.I32And + wasm.I32Load // may be outside of memory
	case 10:
		return g.number(depth-1) + g.number(0) + wasm.I32DivS // may trap
	case 11:
		variable := Other
		if g.odd() {
			variable = Parameter
		}
		return g.number(depth-1) + wasm.LocalTee(uint32(variable))
	case 12:
		return wasm.GlobalGet(counter)
	}
	return g.number(0)
}

// comparisons is the number of comparisons of integers of a size. Their opcodes follow each other.
const comparisons = 10

func comparison(first byte, n int) string { return string([]byte{first + byte(n)}) }

// long is an expression of 64 bits.
func (g *generator) long(depth int) string {
	if depth == 0 {
		if g.choose(2) == 0 {
			return wasm.LocalGet(Long)
		}
		return wasm.I64Const(int64(g.choose(256))<<g.choose(56) - 64)
	}
	switch g.choose(4) {
	case 0:
		return g.number(depth-1) + wasm.I64ExtendI32S
	case 1:
		return g.long(depth-1) + g.long(depth-1) + wasm.I64Add
	case 2:
		return g.long(depth-1) + wasm.LocalTee(Long)
	}
	return g.number(depth-1) + wasm.I64ExtendI32U
}

// condition depends on a choice at run time. Its form is that of Go, or another.
func (g *generator) condition() string {
	negations := strings.Repeat(wasm.I32Eqz, g.choose(4))
	switch g.choose(5) {
	case 0:
		return wasm.Call(Choose) + wasm.I32Const(int32(g.choose(4))) + comparison(wasm.I32Eq[0]+1, g.choose(comparisons-1)) + negations
	case 1:
		return wasm.Call(Choose) + wasm.I64ExtendI32U + wasm.I64Const(int64(g.choose(4))) + comparison(wasm.I64Eqz[0]+2, g.choose(comparisons-1)) + negations
	case 2:
		return wasm.Call(Choose) + wasm.I64ExtendI32U + wasm.I64Eqz + negations
	case 3: // as Go negates what it has compared
		return wasm.Call(Choose) + wasm.I64ExtendI32U + wasm.I64Eqz + strings.Repeat(wasm.I64ExtendI32U+wasm.I64Eqz, g.choose(4)) + negations
	}
	return wasm.Call(Choose) + wasm.I64ExtendI32U + wasm.LocalSet(Long) + wasm.LocalGet(Long) + wasm.I64Eqz + negations
}

// Choices returns random choices for a function of a size.
func Choices(random interface{ Uint32() uint32 }, size int) []byte {
	choices := slices.Repeat([]byte{0}, size)
	for i := range choices {
		choices[i] = byte(random.Uint32())
	}
	return choices
}
