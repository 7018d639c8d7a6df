package meter

import (
	"math"

	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// The cost of work, in fuel.
const (
	// leafCost is the most that a function may cost without taking fuel. Its callers pay for it.
	leafCost = 16
	// callCost includes a function that takes no fuel.
	callCost = 3 + leafCost
	// importCost is the cost of a call of the host, some 100 ns at the least.
	importCost = 100
	// growCost is the cost of growing a memory or table, besides the cost of the addition. The engine does it outside of compiled
	// code, even if it adds nothing.
	growCost = importCost
	// foldedCost bounds the code around a loop that has no charge of its own. Each iteration of the
	// loop pays for that code again, which saves a charge.
	foldedCost = 16
	// localsPerFuel is the number of local variables that one unit sets to zero.
	localsPerFuel = 8

	// A unit is for 1<<bytesShift bytes of memory, or for an element of a table. A page
	// of memory that is added costs 1<<pageShift.
	bytesShift = 6
	pageShift  = 10
)

// function is the code of the function that is being written. The next one uses its parts again.
type function struct {
	out     []byte
	regions []region
	// open are the regions that the open blocks belong to, outermost first.
	open []int
	// locals is how many local variables the function has, parameters included, and
	// scratch says that there are some more.
	locals  uint32
	scratch bool
	// declarations are the declarations of local variables.
	declarations []byte
}

// region is code that is paid for at once. The first region is the function.
type region struct {
	cost uint64
	// at is where in the code the cost stands.
	at int
}

func (w *rewriter) code(s wasmfile.Section) {
	w.uleb(uint32(s.Count) + 6)
	for i, body := range w.m.Bodies {
		code := w.m.Code(i)
		params := w.m.TypeOf(uint32(w.m.ImportedFunctions + i)).Params
		w.body.locals = uint32(len(params) + body.Locals)
		entry := w.function(&code, uint64(body.Locals/localsPerFuel))
		w.body.declare(w.m.Bytes(body.Start, body.Code))
		w.uleb(uint32(len(w.body.declarations) + len(entry) + len(w.body.out)))
		w.out = append(w.out, w.body.declarations...)
		w.out = append(w.out, entry...)
		w.out = append(w.out, w.body.out...)
	}
	w.added()
}

// function rewrites the code of one function. entry is the code before it.
func (w *rewriter) function(code *wasmfile.Code, cost uint64) (entry []byte) {
	f := &w.body
	f.out, f.open, f.scratch = f.out[:0], append(f.open[:0], 0), false
	f.regions = append(f.regions[:0], region{cost: cost})
	raw, from := code.Bytes(), 0
	current := 0
	// straight holds until the function can branch or return for the first time. If a loop begins before
	// that, leadsToLoop is set: each call of the function enters the loop.
	straight, leadsToLoop, leaf := true, false, true
	var in wasmfile.Instruction
	var known constants
	for ; code.Next(&in); known.after(&in) {
		f.regions[current].cost++
		if in.Op == wasmfile.OpMemoryCopy || in.Op == wasmfile.OpMemoryFill {
			if start, accesses, ok := known.inlined(in.Op); ok {
				f.regions[current].cost += accesses
				f.out = append(f.out, raw[from:start]...)
				f.inline(in.Op, &known)
				from = in.End
				continue
			}
		}
		switch in.Op {
		case wasmfile.OpBlock:
			f.open = append(f.open, current)
		case wasmfile.OpIf:
			f.open = append(f.open, current)
			straight = false
		case wasmfile.OpLoop:
			leadsToLoop = leadsToLoop || straight
			straight, leaf = false, false
			f.out = append(f.out, raw[from:in.End]...)
			from = in.End
			f.open = append(f.open, current)
			current = len(f.regions)
			f.out = w.take(f.out)
			f.regions = append(f.regions, region{at: len(f.out)})
			f.out = w.check(append(f.out, 0, 0, 0, 0, 0))
		case wasmfile.OpEnd:
			last := len(f.open) - 1
			current, f.open = f.open[last], f.open[:last]
			straight = false
		case wasmfile.OpElse, wasmfile.OpBr, wasmfile.OpBrIf, wasmfile.OpBrTable, wasmfile.OpReturn, wasmfile.OpUnreachable:
			straight = false
		case wasmfile.OpCall, wasmfile.OpCallIndirect:
			straight, leaf = false, false
			cost := uint64(callCost)
			if in.Op == wasmfile.OpCall && in.Index < w.refill {
				cost = importCost
			}
			f.regions[current].cost += cost - 1
			if in.Op == wasmfile.OpCall {
				f.out = append(f.out, raw[from:in.Start]...)
				f.out = wasmfile.AppendIndex(f.out, wasmfile.OpCall, w.moved(in.Index))
				from = in.End
			}
		case wasmfile.OpLocalGet, wasmfile.OpLocalSet, wasmfile.OpLocalTee:
			if in.Index >= f.locals { // which makes the module invalid, and has to
				f.out = append(f.out, raw[from:in.Start]...)
				f.local(in.Op, math.MaxUint32)
				from = in.End
			}
		case wasmfile.OpRefFunc:
			f.out = append(f.out, raw[from:in.Start]...)
			f.out = wasmfile.AppendIndex(f.out, wasmfile.OpRefFunc, w.moved(in.Index))
			from = in.End
		default:
			c, ok := w.charge(&in)
			if !ok {
				break
			}
			straight, leaf = false, false
			f.regions[current].cost += callCost
			f.out = append(f.out, raw[from:in.Start]...)
			from = in.Start
			if c.after {
				f.regions[current].cost += growCost - callCost
				f.out = append(f.out, raw[in.Start:in.End]...)
				from = in.End
			}
			f.out = append(f.out, c.size...)
			f.out = wasmfile.AppendIndex(f.out, wasmfile.OpCall, c.function)
			if c.replaces {
				from = in.End
			}
		}
	}
	f.out = append(f.out, raw[from:]...)

	whole := f.regions[0].cost
	switch {
	case leaf && whole <= leafCost:
	case leadsToLoop && whole <= foldedCost:
		f.regions[1].cost += whole
	case leadsToLoop:
		entry = w.paid(w.taken(nil, whole))
	default:
		entry = w.check(w.taken(nil, whole))
	}
	for _, r := range f.regions[1:] {
		putPadded(f.out[r.at:], r.cost)
	}
	return entry
}

// charge takes fuel for the length of an operation on memory or a table.
type charge struct {
	// function gets the operation's last operand or its result, which it returns, and the size of
	// the memory or table.
	function uint32
	// size is the code for that size.
	size []byte
	// after is set if the function comes after the operation. A function that replaces the operation
	// gets all of its operands, and no size.
	after, replaces bool
}

// charge returns the function that takes fuel for an instruction, if there is one.
func (w *rewriter) charge(in *wasmfile.Instruction) (charge, bool) {
	const memory = 0
	memorySize := []byte{byte(wasmfile.OpMemorySize), memory}
	tableSize := func() []byte { return wasmfile.AppendIndex(nil, wasmfile.OpTableSize, in.Index) }
	switch in.Op {
	case wasmfile.OpMemoryFill:
		if w.fills() {
			return charge{function: w.fill, replaces: true}, true
		}
		return charge{function: w.bytes, size: memorySize}, true
	case wasmfile.OpMemoryInit, wasmfile.OpMemoryCopy:
		return charge{function: w.bytes, size: memorySize}, true
	case wasmfile.OpMemoryGrow:
		return charge{function: w.grownPages, size: memorySize, after: true}, true
	case wasmfile.OpTableInit, wasmfile.OpTableCopy, wasmfile.OpTableFill:
		return charge{function: w.elements, size: tableSize()}, true
	case wasmfile.OpTableGrow:
		return charge{function: w.grownElements, size: tableSize(), after: true}, true
	}
	return charge{}, false
}

// take writes the begin of the code that takes fuel: the number follows.
func (w *rewriter) take(out []byte) []byte {
	return append(w.global(out, wasmfile.OpGlobalGet), byte(wasmfile.OpI64Const))
}

// taken writes what takes fuel, up to paid.
func (w *rewriter) taken(out []byte, cost uint64) []byte {
	return wasmfile.AppendSigned(w.take(out), int64(cost))
}

// paid writes the end of the code that takes fuel.
func (w *rewriter) paid(out []byte) []byte {
	return w.global(wasmfile.AppendOps(out, wasmfile.OpI64Sub), wasmfile.OpGlobalSet)
}

// check ends what takes fuel, and asks for more if fuel is negative.
func (w *rewriter) check(out []byte) []byte {
	out = w.global(w.paid(out), wasmfile.OpGlobalGet)
	out = wasmfile.AppendOps(wasmfile.AppendConst(out, wasmfile.OpI64Const, 0), wasmfile.OpI64LtS, wasmfile.OpIf)
	return wasmfile.AppendOps(wasmfile.AppendIndex(out, wasmfile.OpCall, w.slow), wasmfile.OpEnd)
}

func (w *rewriter) global(out []byte, op wasmfile.Opcode) []byte {
	return wasmfile.AppendIndex(out, op, w.fuel)
}

func get(out []byte, index uint32) []byte {
	return wasmfile.AppendIndex(out, wasmfile.OpLocalGet, index)
}

// added writes the functions slow, which asks for more fuel, the functions that charge for a length, and the replacement of
// memory.fill.
func (w *rewriter) added() {
	slow := w.global(nil, wasmfile.OpGlobalGet)
	slow = w.global(wasmfile.AppendIndex(slow, wasmfile.OpCall, w.refill), wasmfile.OpGlobalSet)
	w.append(slow, noLocals)
	const length, old, size = 0, 0, 1 // parameters

	bytes := w.withinMemory(nil, length, func(out []byte) []byte { return get(out, size) })
	w.append(get(bytes, length), noLocals)

	elements := wasmfile.AppendOps(get(get(nil, length), size), wasmfile.OpI32LeU, wasmfile.OpIf)
	elements = w.charged(elements, func(out []byte) []byte { return get(out, length) }, 0, wasmfile.OpI64Shl)
	w.append(get(wasmfile.AppendOps(elements, wasmfile.OpEnd), length), noLocals)

	// grown charges for the added size, if it is not zero. Else it does what refused says.
	grown := func(shift int64, refused []byte) []byte {
		out := wasmfile.AppendConst(get(nil, old), wasmfile.OpI32Const, -1)
		out = wasmfile.AppendOps(out, wasmfile.OpI32Ne, wasmfile.OpIf)
		out = w.charged(out, func(out []byte) []byte {
			return wasmfile.AppendOps(get(get(out, size), old), wasmfile.OpI32Sub)
		}, shift, wasmfile.OpI64Shl)
		return get(wasmfile.AppendOps(append(out, refused...), wasmfile.OpEnd), old)
	}
	w.append(grown(pageShift, nil), noLocals)
	var refused []byte
	if w.refuses {
		refused = wasmfile.AppendConst(wasmfile.AppendOps(nil, wasmfile.OpElse), wasmfile.OpI32Const, 1)
		refused = wasmfile.AppendIndex(refused, wasmfile.OpGlobalSet, w.refused)
	}
	w.append(grown(0, refused), noLocals)
	w.filling()
}

// withinMemory writes what takes fuel for a number of bytes, unless memory is smaller.
func (w *rewriter) withinMemory(out []byte, bytes uint32, pages func([]byte) []byte) []byte {
	const pageBits = 16
	length := func(out []byte) []byte { return get(out, bytes) }
	out = pages(wasmfile.AppendOps(length(out), wasmfile.OpI64ExtendI32U))
	out = wasmfile.AppendConst(wasmfile.AppendOps(out, wasmfile.OpI64ExtendI32U), wasmfile.OpI64Const, pageBits)
	out = wasmfile.AppendOps(out, wasmfile.OpI64Shl, wasmfile.OpI64LeU, wasmfile.OpIf)
	return wasmfile.AppendOps(w.charged(out, length, bytesShift, wasmfile.OpI64ShrU), wasmfile.OpEnd)
}

// charged writes what takes fuel for a number of 32 bits, shifted by some bits.
func (w *rewriter) charged(out []byte, number func([]byte) []byte, shift int64, op wasmfile.Opcode) []byte {
	out = wasmfile.AppendOps(number(w.global(out, wasmfile.OpGlobalGet)), wasmfile.OpI64ExtendI32U)
	return w.check(wasmfile.AppendOps(wasmfile.AppendConst(out, wasmfile.OpI64Const, shift), op))
}

// append adds a function with these declarations of local variables.
func (w *rewriter) append(code []byte, declarations string) {
	w.uleb(uint32(len(declarations) + len(code) + 1))
	w.out = append(w.out, declarations...)
	w.out = append(append(w.out, code...), byte(wasmfile.OpEnd))
}

const noLocals = "\x00"
