package wasmfile

import "github.com/tetratelabs/wazero/api"

// Instruction is one instruction of a function.
type Instruction struct {
	Op Opcode
	// Start and End are its place in the code.
	Start, End int
	// Index is the function of call and ref.func, the variable or global of an access to it, the
	// label of br and br_if, the table of an instruction for one (the source of table.copy, which
	// the engine checks), the number of labels of br_table, and the number of i32.const. Otherwise
	// it has no meaning.
	Index uint32
	// Value is the number of i64.const, or the offset of an access to memory.
	Value int64
}

// Code reads the code of a function that a [Module] holds, which was checked.
type Code struct {
	module *Module
	r      reader
}

// Code reads the instructions of the i-th function that the module defines.
func (m *Module) Code(i int) Code {
	b := m.Bodies[i]
	return Code{m, reader{data: m.wasm[b.Code:b.End], base: b.Code}}
}

// Next reads the next instruction. It returns false after the last.
func (c *Code) Next(in *Instruction) bool {
	return c.r.left() > 0 && c.r.instruction(c.module, in)
}

// Bytes returns the code itself.
func (c *Code) Bytes() []byte { return c.r.data }

// instruction reads one instruction, and reports success.
func (r *reader) instruction(m *Module, in *Instruction) bool {
	in.Start = r.at
	first := r.byte()
	in.Op = Opcode(first)
	kind := plainImmediates[first]
	if kind == immPrefixed {
		kind = r.prefixed(in, first)
	}
	switch kind {
	case noImmediate:
	case noInstruction:
		var second uint32
		if first == prefixGC || first == prefixAtomic {
			second = r.u32()
		}
		r.at = in.Start
		r.refuseInstruction(first, second)
	case immVariable, immLabel:
		in.Index = r.u32()
	case immGlobal:
		in.Index = r.index("global", len(m.Globals))
	case immFunction:
		in.Index = r.index("function", len(m.Functions))
	case immI32:
		in.Index = uint32(r.signed(32))
	case immI64:
		in.Value = r.signed(64)
	case immMemArg:
		in.Value = int64(r.memArg())
	case immBlockType:
		r.blockType(m)
	case immTypeAndTable:
		r.index("type", len(m.Types))
		r.u32()
	case immLabels:
		labels := r.countOf("labels of jumps in one function", m.limits.Targets)
		for range labels {
			r.u32()
		}
		r.u32()
		in.Index = uint32(labels)
	case imm4Bytes:
		r.bytes(4)
	case imm8Bytes:
		r.bytes(8)
	case imm16Bytes:
		r.bytes(16)
	case immLane:
		r.byte()
	case immMemArgAndLane:
		r.memArg()
		r.byte()
	case immZero:
		r.zero()
	case immTwoZeros:
		r.zero()
		r.zero()
	case immIndexAndZero:
		r.u32()
		r.zero()
	case immTwoIndexes: // of an element segment or a table, and of a table
		r.u32()
		in.Index = r.u32()
	case immRefType:
		if r.err == nil && r.left() > 0 && r.data[r.at]&BlockEmpty == 0 { // a type by its index
			r.refuse(references)
		}
		r.refType()
	case immSelectTypes:
		if r.count() != 1 {
			r.fail("select has not one type")
		}
		r.valueType()
	}
	in.End = r.at
	return r.err == nil
}

// prefixed reads the rest of an opcode. The opcode of a vector instruction is a number by the
// standard. wazero reads one byte of it, and a second byte as an instruction without effect. Only
// the shortest form means the same to both.
func (r *reader) prefixed(in *Instruction, first byte) byte {
	at := r.at
	second := r.u32()
	long := r.at - at
	table := miscImmediates
	if first == prefixVector {
		table = vectorImmediates
	}
	if second >= uint32(len(table)) || table[second] == noInstruction {
		r.at = in.Start
		r.refuseInstruction(first, second)
		return noImmediate
	}
	if first == prefixVector && (second < 0x80 && long != 1 || long > 2) {
		r.fail("an opcode is not in its shortest form")
	}
	in.Op = Opcode(first)<<8 | Opcode(second)
	return table[second]
}

// memArg reads the alignment and returns the offset.
func (r *reader) memArg() (offset uint32) {
	const memoryIndex = 1 << 6
	if r.u32()&memoryIndex != 0 {
		r.refuse(multiMemory)
	}
	return r.u32()
}

func (r *reader) zero() {
	if r.byte() != 0 {
		r.at--
		r.refuse(multiMemory)
	}
}

// BlockEmpty is the type of a block without parameters and results.
const BlockEmpty = 0x40

func (r *reader) blockType(m *Module) {
	if r.err == nil && r.left() > 0 {
		b := r.data[r.at]
		if b == BlockEmpty || isValueType(b) {
			r.at++
			return
		}
		if b&(0x80|BlockEmpty) == BlockEmpty { // a value type, as it is negative
			r.typeFailure()
		}
	}
	at := r.at
	if index := r.signed(33); r.err == nil && (index < 0 || index >= int64(len(m.Types))) {
		r.at = at
		r.fail("a block of a type that is not there")
	}
}

// Forms of types.
const (
	formFunc    = 0x60
	typeV128    = 0x7b
	typeFuncref = 0x70
)

func isValueType(b byte) bool {
	switch b {
	case api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeF32, api.ValueTypeF64,
		api.ValueTypeExternref, typeFuncref, typeV128:
		return true
	}
	return false
}

func (r *reader) valueType() api.ValueType {
	t := r.byte()
	if r.err == nil && !isValueType(t) {
		r.at--
		r.typeFailure()
	}
	return t
}

func (r *reader) refType() api.ValueType {
	t := r.byte()
	if r.err == nil && t != typeFuncref && t != api.ValueTypeExternref {
		r.at--
		r.typeFailure()
	}
	return t
}

// typeFailure fails because of the next value type.
func (r *reader) typeFailure() {
	var next byte
	if r.left() > 1 {
		next = r.data[r.at+1]
	}
	if p, known := ofValueType(r.data[r.at], next); known {
		r.refuse(p)
	}
	r.fail("an unknown value type")
}

// body checks a function: end, nesting, limits, and indexes. The engine checks operands' types.
func (r *reader) body(m *Module) Body {
	size := r.u32()
	b := Body{Start: r.offset()}
	if !r.limit("bytes of code in one function", uint64(size), m.limits.Body) {
		return b
	}
	code := reader{data: r.bytes(size), base: b.Start, err: r.err}
	var locals uint64
	for range code.count() {
		locals += uint64(code.u32())
		code.valueType()
	}
	code.limit("local variables in one function", locals, m.limits.Locals)
	b.Code, b.End, b.Locals = code.offset(), code.base+len(code.data), int(locals)
	nesting, branches, loops, targets := 1, uint64(0), uint64(0), uint64(0)
	var in Instruction
	for nesting > 0 && code.instruction(m, &in) {
		switch in.Op {
		case OpBlock, OpLoop, OpIf:
			nesting++
			branches++
			code.limit("blocks inside of each other", uint64(nesting-1), m.limits.Nesting)
			if in.Op == OpLoop {
				loops++
				code.limit("loops in one function", loops, m.limits.Loops)
			}
		case OpElse, OpBr, OpBrIf:
			branches++
		case OpBrTable:
			branches++
			targets += uint64(in.Index)
			code.limit("labels of jumps in one function", targets, m.limits.Targets)
		case OpEnd:
			nesting--
		case OpMemoryInit, OpDataDrop:
			m.UsesSegments = true
		case OpTableSet, OpTableInit, OpElemDrop, OpTableCopy, OpTableGrow, OpTableFill:
			m.ChangesTables = true
		}
	}
	code.limit("blocks and branches in one function", branches, m.limits.Branches)
	code.limit("branches times variables in one function", branches*(m.parameters(len(m.Bodies))+locals), m.limits.Merges)
	if code.err == nil && code.left() > 0 {
		code.fail("a function goes on after its end")
	}
	r.err = code.err
	return b
}

// parameters returns how many parameters the function of a body has.
func (m *Module) parameters(body int) uint64 {
	function := m.ImportedFunctions + body
	if function >= len(m.Functions) {
		return 0
	}
	return uint64(len(m.Types[m.Functions[function]].Params))
}

// constant checks the expression of a global or segment, which is a single instruction. value is the
// number of i32.const, if known is set.
func (r *reader) constant(m *Module) (value int32, known bool) {
	var in Instruction
	at := r.at
	if !r.instruction(m, &in) {
		return 0, false
	}
	switch in.Op {
	case OpI32Const:
		number := reader{data: r.data, at: at + 1}
		value, known = int32(number.signed(32)), true
	case OpRefFunc:
		m.addFuncRef(r.base+at+1, r.offset(), in.Index)
	case OpGlobalGet:
		if index := int(in.Index); index >= m.ImportedGlobals && !m.Globals[index].Mutable {
			r.at = at
			r.refuse(ownGlobals)
			return 0, false
		}
	case OpI64Const, opF32Const, opF64Const, OpRefNull, OpVectorConst:
	default:
		r.at = at
		r.fail("an expression that is not constant")
		return 0, false
	}
	if at = r.at; !r.instruction(m, &in) || in.Op == OpEnd {
		return value, known
	}
	r.at = at
	switch in.Op {
	case OpI32Const, OpI64Const, OpGlobalGet:
		r.refuse(extendedConst)
	}
	r.fail("an expression that is not constant")
	return 0, false
}
