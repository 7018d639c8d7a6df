package relooper

import "github.com/husk-dev/husk/internal/wasmfile"

// emitter writes instructions, with fewer ones for the sequences of Go's compiler: there, a
// condition is a number of 64 bits that is compared with 0 and negated, and so is a place on the
// stack.
type emitter struct {
	out []byte
	// straight are the instructions since the last target of a branch.
	straight []emitted
}

type emitted struct {
	op wasmfile.Opcode
	at int // in out
	// variable is that of local.get, local.set, and local.tee.
	variable uint32
}

// opposite has for each comparison, in the order of opcodes (eq, ne, lt_s, lt_u, gt_s, gt_u, le_s,
// le_u, ge_s, ge_u), the one that holds otherwise.
var opposite = [...]wasmfile.Opcode{1, 0, 8, 9, 6, 7, 4, 5, 2, 3}

// boundary is a place with branches to it or out of it.
func (e *emitter) boundary() { e.straight = e.straight[:0] }

// last is the n-th instruction from the end, from 1.
func (e *emitter) last(n int) wasmfile.Opcode {
	if n > len(e.straight) {
		return wasmfile.OpNop
	}
	return e.straight[len(e.straight)-n].op
}

// drop takes back the last n instructions.
func (e *emitter) drop(n int) {
	first := len(e.straight) - n
	e.out = e.out[:e.straight[first].at]
	e.straight = e.straight[:first]
}

func (e *emitter) put(op wasmfile.Opcode, immediate ...byte) {
	e.straight = append(e.straight, emitted{op: op, at: len(e.out)})
	e.out = append(append(e.out, byte(op)), immediate...)
}

// emit writes an instruction, whose bytes are raw.
func (e *emitter) emit(in *wasmfile.Instruction, raw []byte) {
	switch in.Op {
	case wasmfile.OpI64Eqz:
		if e.last(1) == wasmfile.OpI64ExtendI32U {
			e.drop(1)
			e.negate()
			return
		}
	case wasmfile.OpI32Eqz:
		e.negate()
		return
	case wasmfile.OpI32WrapI64:
		if e.wrap() {
			return
		}
	case wasmfile.OpIf:
		e.condition()
		e.out = append(e.out, raw...)
		e.boundary()
		return
	case wasmfile.OpBlock, wasmfile.OpLoop, wasmfile.OpElse, wasmfile.OpEnd, wasmfile.OpBr, wasmfile.OpBrIf:
		if in.Op == wasmfile.OpBrIf {
			e.condition()
		}
		e.out = append(e.out, raw...)
		e.boundary()
		return
	}
	e.straight = append(e.straight, emitted{in.Op, len(e.out), in.Index})
	e.out = append(e.out, raw...)
}

// negate writes i32.eqz.
func (e *emitter) negate() {
	switch op := e.last(1); {
	case op >= wasmfile.OpI32Eq && op <= wasmfile.OpI32GeU:
		e.drop(1)
		e.put(wasmfile.OpI32Eq + opposite[op-wasmfile.OpI32Eq])
	case op >= wasmfile.OpI64Eq && op <= wasmfile.OpI64GeU:
		e.drop(1)
		e.put(wasmfile.OpI64Eq + opposite[op-wasmfile.OpI64Eq])
	case op == wasmfile.OpI64Eqz:
		e.drop(1)
		e.put(wasmfile.OpI64Const, 0)
		e.put(wasmfile.OpI64Ne)
	default:
		e.put(wasmfile.OpI32Eqz)
	}
}

// condition takes back instructions that make no difference to a branch.
func (e *emitter) condition() {
	for e.last(1) == wasmfile.OpI32Eqz && e.last(2) == wasmfile.OpI32Eqz {
		e.drop(2)
	}
}

// wrap writes i32.wrap_i64 after a number that is better computed with 32 bits.
func (e *emitter) wrap() bool {
	switch {
	case e.last(1) == wasmfile.OpI64ExtendI32U:
		e.drop(1)
	case e.last(1) == wasmfile.OpI64Const:
		number := e.number(1)
		e.drop(1)
		e.put(wasmfile.OpI32Const, wasmfile.AppendSigned(nil, int64(number))...)
	case e.last(1) == wasmfile.OpI64Add && e.last(2) == wasmfile.OpI64Const && e.last(3) == wasmfile.OpI64ExtendI32U:
		number := e.number(2)
		e.drop(3)
		e.put(wasmfile.OpI32Const, wasmfile.AppendSigned(nil, int64(number))...)
		e.put(wasmfile.OpI32Add)
	default:
		return false
	}
	return true
}

// number is the lower half of that of the n-th instruction from the end, i32.const or i64.const.
func (e *emitter) number(n int) int32 {
	return int32(wasmfile.Signed(e.out[e.straight[len(e.straight)-n].at+1:]))
}

// takeParameter takes back the instructions that set the parameter, and returns the number.
func (e *emitter) takeParameter() (parameter uint32, ok bool) {
	if e.last(1) != wasmfile.OpLocalSet || e.last(2) != wasmfile.OpI32Const {
		return 0, false
	}
	if e.straight[len(e.straight)-1].variable != 0 {
		return 0, false
	}
	parameter = uint32(e.number(2))
	e.drop(2)
	return parameter, true
}
