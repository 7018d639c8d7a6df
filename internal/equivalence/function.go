package equivalence

import (
	"encoding/binary"

	"github.com/husk-dev/husk/internal/wasmfile"
)

// function is the code of a function with the targets of its branches.
type function struct {
	module *wasmfile.Module
	raw    []byte
	code   []instruction
	// targets are those of all jump tables.
	targets []target
	// results counts the results of the function, and locals its variables with the parameters.
	results, locals int

	// open are the open blocks, outermost first. height is the number of values on the stack, and
	// dead is set in unreachable code.
	open   []block
	height int
	dead   bool
}

type instruction struct {
	op   wasmfile.Opcode
	kind kind
	// joined marks code with several ways to it.
	joined       bool
	pops, pushes uint16
	// index is that of [wasmfile.Instruction].
	index uint32
	// start and end are where the instruction is in the code.
	start, end int32
	// to is the target of a jump, of a br_if whose condition holds, of an if whose condition does
	// not, and of a silent instruction. For a table it has the place of the first target.
	to target
}

// target is an instruction, reached with height values that were on the stack before the block, and
// arity values that the branch takes along.
type target struct {
	at, height, arity int32
}

type kind uint8

const (
	// effect is whatever has no other kind.
	effect kind = iota
	// silent does nothing.
	silent
	jump
	condition
	table
	// ends returns from the function.
	ends
	unreachable
	// number pushes a constant.
	number
	get
	set
	tee
	drop
	// arithmetic is what [terms] compute.
	arithmetic
)

// block is a block, loop, if, or function that has not ended.
type block struct {
	op              wasmfile.Opcode
	params, results int
	// height is that of the stack without the parameters.
	height int
	start  int32
	// dead is set where the block itself is never reached.
	dead bool
	// pending are the branches to its end, see [function.await].
	pending int32
}

const nothing = -1 << 31

// read decodes the i-th function of a module, and reports whether its stack's height is valid.
func (f *function) read(m *wasmfile.Module, i int) bool {
	typ := m.TypeOf(uint32(m.ImportedFunctions + i))
	code := m.Code(i)
	f.module, f.raw = m, code.Bytes()
	f.results, f.locals = len(typ.Results), len(typ.Params)+m.Bodies[i].Locals
	f.code, f.targets = f.code[:0], f.targets[:0]
	f.open = append(f.open[:0], block{op: wasmfile.OpBlock, results: f.results, pending: nothing})
	f.height, f.dead = 0, false
	var in wasmfile.Instruction
	for code.Next(&in) {
		f.code = append(f.code, instruction{op: in.Op, index: in.Index, start: int32(in.Start), end: int32(in.End)})
		if !f.add(&f.code[len(f.code)-1]) {
			return false
		}
	}
	f.skip()
	return true
}

// skip leads each silent instruction to the next one that is not.
func (f *function) skip() {
	for i := len(f.code) - 2; i >= 0; i-- {
		in, next := &f.code[i], &f.code[i+1]
		if in.kind != silent {
			continue
		}
		in.to.at = int32(i + 1)
		if next.kind == silent {
			in.to.at = next.to.at
		}
		in.joined = in.joined || next.joined
	}
}

// add sets the kind of the last instruction.
func (f *function) add(in *instruction) bool {
	switch in.op {
	case wasmfile.OpNop:
		in.kind = silent
	case wasmfile.OpBlock, wasmfile.OpLoop:
		in.kind = silent
		return f.begin(in)
	case wasmfile.OpIf:
		in.kind, in.pops = condition, 1
		return f.pop(1) && f.begin(in)
	case wasmfile.OpElse:
		return f.otherwise(in)
	case wasmfile.OpEnd:
		return f.finish(in)
	case wasmfile.OpBr:
		in.kind = jump
		return f.branch(&in.to, in.index, int32(len(f.code)-1)) && f.leave()
	case wasmfile.OpBrIf:
		in.kind, in.pops = condition, 1
		return f.pop(1) && f.branch(&in.to, in.index, int32(len(f.code)-1))
	case wasmfile.OpBrTable:
		in.kind, in.pops = table, 1
		return f.pop(1) && f.table(in) && f.leave()
	case wasmfile.OpReturn:
		in.kind = ends
		return f.pop(f.results) && f.leave()
	case wasmfile.OpUnreachable:
		in.kind = unreachable
		return f.leave()
	default:
		return f.plain(in)
	}
	return true
}

// leave marks the following code as unreachable.
func (f *function) leave() bool {
	f.dead = true
	return true
}

// pop takes values of the innermost block from the stack.
func (f *function) pop(n int) bool {
	if f.dead {
		return true
	}
	f.height -= n
	return f.height >= f.open[len(f.open)-1].height
}

func (f *function) push(n int) {
	if !f.dead {
		f.height += n
	}
}

func (f *function) begin(in *instruction) bool {
	params, results := f.blockType(in)
	if !f.pop(params) {
		return false
	}
	b := block{
		op: in.op, params: params, results: results, height: f.height,
		start: int32(len(f.code) - 1), dead: f.dead, pending: nothing,
	}
	in.to = target{height: int32(b.height), arity: int32(params)}
	f.open = append(f.open, b)
	f.push(params)
	return true
}

// blockType counts the parameters and results of a block.
func (f *function) blockType(in *instruction) (params, results int) {
	const (
		empty  = 0x40
		single = 0x40 // is set in value types, which are negative numbers
	)
	first := f.raw[in.start+1]
	switch {
	case first == empty:
		return 0, 0
	case first < 0x80 && first&single != 0:
		return 0, 1
	}
	index, _ := binary.Uvarint(f.raw[in.start+1 : in.end])
	t := f.module.Types[index]
	return len(t.Params), len(t.Results)
}

// otherwise ends the first branch of an if.
func (f *function) otherwise(in *instruction) bool {
	b := &f.open[len(f.open)-1]
	if b.op != wasmfile.OpIf || !f.dead && f.height != b.height+b.results {
		return false
	}
	in.kind, in.to = jump, target{height: int32(b.height), arity: int32(b.results)}
	f.await(&in.to, b, int32(len(f.code)-1))
	f.code[b.start].to.at = int32(len(f.code))
	b.op = wasmfile.OpElse
	f.dead, f.height = b.dead, b.height+b.params
	return true
}

// finish ends a block, or the function.
func (f *function) finish(in *instruction) bool {
	if len(f.open) == 0 {
		return false
	}
	b := &f.open[len(f.open)-1]
	if !f.dead && f.height != b.height+b.results {
		return false
	}
	at := int32(len(f.code) - 1)
	if b.op == wasmfile.OpIf { // without another branch
		if b.params != b.results {
			return false
		}
		f.code[b.start].to.at = at
		in.joined = true
	}
	for pending := b.pending; pending != nothing; {
		to := f.waiting(pending)
		pending, to.at = to.at, at
		in.joined = true
	}
	in.kind = silent
	f.dead, f.height = b.dead, b.height+b.results
	f.open = f.open[:len(f.open)-1]
	if len(f.open) == 0 {
		in.kind = ends
	}
	return true
}

// branch sets the target of a branch: of an instruction, or of a table's entry (a negative number).
func (f *function) branch(to *target, label uint32, from int32) bool {
	if uint64(label) >= uint64(len(f.open)) {
		return false
	}
	b := &f.open[len(f.open)-1-int(label)]
	arity := b.results
	if b.op == wasmfile.OpLoop {
		arity = b.params
	}
	if !f.dead && f.height < b.height+arity {
		return false
	}
	*to = target{height: int32(b.height), arity: int32(arity)}
	if b.op == wasmfile.OpLoop {
		to.at = b.start
		f.code[b.start].joined = true
		return true
	}
	f.await(to, b, from)
	return true
}

// await sets the target of a branch when its block ends. Until then, targets form a list.
func (f *function) await(to *target, b *block, from int32) {
	to.at, b.pending = b.pending, from
}

// waiting returns the target with a number, see [function.branch].
func (f *function) waiting(from int32) *target {
	if from < 0 {
		return &f.targets[-1-from]
	}
	return &f.code[from].to
}

func (f *function) table(in *instruction) bool {
	labels := f.raw[in.start+1 : in.end]
	_, n := binary.Uvarint(labels)
	in.to.at = int32(len(f.targets))
	for labels = labels[n:]; len(labels) > 0; labels = labels[n:] {
		var label uint64
		label, n = binary.Uvarint(labels)
		f.targets = append(f.targets, target{})
		last := len(f.targets) - 1
		if !f.branch(&f.targets[last], uint32(label), int32(-1-last)) {
			return false
		}
	}
	return true
}

// plain adds an instruction without a branch.
func (f *function) plain(in *instruction) bool {
	switch in.op {
	case wasmfile.OpCall:
		t := f.module.TypeOf(in.index)
		in.pops, in.pushes = uint16(len(t.Params)), uint16(len(t.Results))
	case wasmfile.OpCallIndirect:
		index, _ := binary.Uvarint(f.raw[in.start+1 : in.end])
		t := f.module.Types[index]
		in.pops, in.pushes = uint16(len(t.Params)+1), uint16(len(t.Results))
	default:
		var known bool
		if in.pops, in.pushes, known = operands(in.op); !known {
			return false
		}
		in.kind = kindOf(in.op)
	}
	switch in.kind {
	case get, set, tee:
		if uint64(in.index) >= uint64(f.locals) {
			return false
		}
	}
	if !f.pop(int(in.pops)) {
		return false
	}
	f.push(int(in.pushes))
	return true
}
