package meter

import (
	"encoding/binary"
	"math"

	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// Compilers copy and clear values larger than a few words, mostly structs, with memory.copy and memory.fill of a constant length.
// For wazero each of these is a call, or several for memory.fill, and so it is to take fuel for it by its length. Those of a
// small length become loads and stores, which cost what these cost.

const (
	// leastInline and mostInline bound the lengths in bytes of copies and fills that become loads
	// and stores: above one vector, and few enough for the processor's registers.
	leastInline = vectorSize
	mostInline  = 16 * vectorSize

	vectorSize = 16
	wordSize   = 8
)

// scratch are the local variables that a function gets where it has such a copy or fill:
// addresses to write to and to read from, and what to fill with.
const (
	scratchTo = iota
	scratchFrom
	scratchFill
	scratchLocals

	scratchGroups = "\x02\x7f\x01\x7b" // two i32, one v128
)

// constants are the last two instructions that pushed numbers, the latest first.
type constants [2]wasmfile.Instruction

func (c *constants) after(in *wasmfile.Instruction) {
	if in.Op != wasmfile.OpI32Const {
		*c = constants{}
		return
	}
	c[0], c[1] = *in, c[0]
}

// inlined returns the start of the known operands of a copy or fill that becomes loads and stores,
// and the number of these. ok is false for any other.
func (c *constants) inlined(op wasmfile.Opcode) (start int, accesses uint64, ok bool) {
	length := &c[0]
	if length.Op != wasmfile.OpI32Const || length.Index < leastInline || length.Index > mostInline {
		return 0, 0, false
	}
	stores := uint64(length.Index+vectorSize-1) / vectorSize
	switch {
	case op == wasmfile.OpMemoryCopy:
		return length.Start, 2 * stores, true
	case op == wasmfile.OpMemoryFill && c[1].Op == wasmfile.OpI32Const:
		return c[1].Start, stores, true
	}
	return 0, 0, false
}

// inline writes the copy or fill. It traps before it writes anything, and reads all before that.
func (f *function) inline(op wasmfile.Opcode, c *constants) {
	f.scratch = true
	to, from, fill := f.locals+scratchTo, f.locals+scratchFrom, f.locals+scratchFill
	length := c[0].Index
	if op == wasmfile.OpMemoryFill {
		f.out = wasmfile.AppendOps(f.out, wasmfile.OpVectorConst)
		for range vectorSize {
			f.out = append(f.out, byte(c[1].Index))
		}
		f.local(wasmfile.OpLocalSet, fill)
	} else {
		f.local(wasmfile.OpLocalSet, from)
	}
	f.local(wasmfile.OpLocalSet, to)
	f.probe(to, length)
	if op == wasmfile.OpMemoryFill {
		for at := range vectors(length) {
			f.local(wasmfile.OpLocalGet, to)
			f.local(wasmfile.OpLocalGet, fill)
			f.access(wasmfile.OpVectorStore, at)
		}
		return
	}
	f.probe(from, length)
	var order [mostInline / vectorSize]uint32
	n := 0
	for at := range vectors(length) {
		f.local(wasmfile.OpLocalGet, to)
		f.local(wasmfile.OpLocalGet, from)
		f.access(wasmfile.OpVectorLoad, at)
		order[n] = at
		n++
	}
	for n > 0 {
		n--
		f.access(wasmfile.OpVectorStore, order[n])
	}
}

// vectors yields the begins of the vectors that cover length bytes. The last two may overlap.
func vectors(length uint32) func(func(uint32) bool) {
	return func(yield func(uint32) bool) {
		for at := uint32(0); at < length; at += vectorSize {
			if !yield(min(at, length-vectorSize)) {
				return
			}
		}
	}
}

// probe traps if the last byte is beyond memory. The engine then knows that the others are not.
func (f *function) probe(address, length uint32) {
	f.local(wasmfile.OpLocalGet, address)
	f.access(wasmfile.OpI32Load8U, length-1)
	f.out = wasmfile.AppendOps(f.out, wasmfile.OpDrop)
}

// access writes a load or store, which may be at any alignment.
func (f *function) access(op wasmfile.Opcode, offset uint32) {
	f.out = binary.AppendUvarint(wasmfile.AppendIndex(f.out, op, 0), uint64(offset))
}

func (f *function) local(op wasmfile.Opcode, index uint32) {
	f.out = wasmfile.AppendIndex(f.out, op, index)
}

// declare sets the declarations of local variables, with the scratch variables if there are any.
func (f *function) declare(declarations []byte) {
	f.declarations = f.declarations[:0]
	if f.scratch {
		groups, n := binary.Uvarint(declarations)
		f.declarations = binary.AppendUvarint(f.declarations, groups+2)
		f.declarations = append(f.declarations, declarations[n:]...)
		declarations = []byte(scratchGroups)
	}
	f.declarations = append(f.declarations, declarations...)
}

// fills reports whether the function fill replaces memory.fill. It needs a memory; a module with
// memory.fill and no memory must stay invalid.
func (w *rewriter) fills() bool { return len(w.m.Memories) > 0 }

// filling writes the function fill, for lengths that are not known. It takes fuel, and fills few
// bytes itself. It traps before anything is written.
func (w *rewriter) filling() {
	if !w.fills() {
		w.append(nil, noLocals)
		return
	}
	const (
		to, value, length = 0, 1, 2 // parameters
		fill, last        = 3, 4    // the vector, and where the last one goes

		// Up to this address no sum with a small length exceeds 32 bits.
		low = math.MaxUint32 - mostInline
		// A factor that repeats a byte.
		repeat = 0x0101010101010101
	)
	f := &function{out: w.withinMemory(nil, length, func(out []byte) []byte {
		return wasmfile.AppendIndex(out, wasmfile.OpMemorySize, 0)
	})}
	number := func(n int64) { f.out = wasmfile.AppendConst(f.out, wasmfile.OpI32Const, n) }
	get := func(index uint32) { f.local(wasmfile.OpLocalGet, index) }
	ops := func(ops ...wasmfile.Opcode) { f.out = wasmfile.AppendOps(f.out, ops...) }
	// leaveIf leaves the innermost block if a comparison holds.
	leaveIf := func(comparison wasmfile.Opcode) {
		f.out = wasmfile.AppendIndex(wasmfile.AppendOps(f.out, comparison), wasmfile.OpBrIf, 0)
	}
	// outside leaves the block where the length is not within these.
	outside := func(least, most int64) {
		get(length)
		number(least)
		ops(wasmfile.OpI32Sub)
		number(most - least)
		leaveIf(wasmfile.OpI32GtU)
	}
	lastOf := func(size int64) {
		get(to)
		get(length)
		ops(wasmfile.OpI32Add)
		number(size)
		ops(wasmfile.OpI32Sub)
	}

	ops(wasmfile.OpBlock)
	get(to)
	number(int64(int32(low - 1<<32)))
	leaveIf(wasmfile.OpI32GtU)

	ops(wasmfile.OpBlock)
	outside(vectorSize, mostInline)
	lastOf(vectorSize)
	f.local(wasmfile.OpLocalTee, last)
	get(value)
	ops(wasmfile.OpVectorSplat)
	f.local(wasmfile.OpLocalTee, fill)
	f.access(wasmfile.OpVectorStore, 0)
	ops(wasmfile.OpLoop)
	get(to)
	get(fill)
	f.access(wasmfile.OpVectorStore, 0)
	get(to)
	number(vectorSize)
	ops(wasmfile.OpI32Add)
	f.local(wasmfile.OpLocalTee, to)
	get(last)
	leaveIf(wasmfile.OpI32LtU)
	ops(wasmfile.OpEnd, wasmfile.OpReturn, wasmfile.OpEnd)

	outside(wordSize, vectorSize)
	for _, address := range []func(){func() { lastOf(wordSize) }, func() { get(to) }} {
		address()
		get(value)
		number(0xff)
		ops(wasmfile.OpI32And, wasmfile.OpI64ExtendI32U)
		f.out = wasmfile.AppendConst(f.out, wasmfile.OpI64Const, repeat)
		ops(wasmfile.OpI64Mul)
		f.access(wasmfile.OpI64Store, 0)
	}
	ops(wasmfile.OpReturn, wasmfile.OpEnd)

	get(to)
	get(value)
	get(length)
	f.out = wasmfile.AppendIndex(f.out, wasmfile.OpMemoryFill, 0)
	w.append(f.out, "\x02\x01\x7b\x01\x7f") // one v128, one i32
}
