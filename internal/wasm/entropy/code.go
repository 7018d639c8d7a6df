package entropy

import "github.com/husk-dev/husk/internal/wasm/wasmfile"

// code is the instructions of a function as Go's compiler writes them.
type code []wasmfile.Instruction

// read replaces the code by the code of a function.
func (c *code) read(m *wasmfile.Module, body int) {
	*c = (*c)[:0]
	from := m.Code(body)
	var in wasmfile.Instruction
	for from.Next(&in) {
		*c = append(*c, in)
	}
}

// is reports whether an instruction is there.
func (c code) is(at int, op wasmfile.Opcode) bool {
	return at >= 0 && at < len(c) && c[at].Op == op
}

func (c code) isWith(at int, op wasmfile.Opcode, value int64) bool {
	return c.is(at, op) && c[at].Value == value
}

// Go writes a call after its return address, on Go's stack, whose end is the variable SP:
//
//	local.get SP  i64.const address  i64.store 0  i32.const 0  call
const beforeCall = 4

// returnAddress is where the call at a place returns to.
func (c code) returnAddress(call int) (address int64, known bool) {
	at := call - beforeCall
	if !c.is(at, wasmfile.OpLocalGet) || !c.is(at+1, wasmfile.OpI64Const) || !c.isWith(at+2, wasmfile.OpI64Store, 0) ||
		!c.is(at+3, wasmfile.OpI32Const) || c[at+3].Index != 0 {
		return 0, false
	}
	return c[at+1].Value, true
}

// local returns the address, relative to SP, of the local variable of Go that these four
// instructions compute:
//
//	local.get SP  i64.extend_i32_u  i64.const offset  i64.add
func (c code) local(at int, stack uint32) (offset int64, known bool) {
	if !c.is(at, wasmfile.OpLocalGet) || c[at].Index != stack || !c.is(at+1, wasmfile.OpI64ExtendI32U) ||
		!c.is(at+2, wasmfile.OpI64Const) || !c.is(at+3, wasmfile.OpI64Add) {
		return 0, false
	}
	return c[at+2].Value, true
}

const localLength = 4

// result returns where the code after a call uses its result: behind the instructions that leave the
// goroutine if the call did.
//
//	global.get 0  local.set SP  br_if  end
func (c code) result(call int) int {
	at := call + 4
	if c.is(at, wasmfile.OpEnd) {
		at++
	}
	return at
}

// isResult reports whether the two instructions at a place are the result of a call.
func (c code) isResult(at int, stack uint32) bool {
	return c.is(at, wasmfile.OpLocalGet) && c[at].Index == stack && c.isWith(at+1, wasmfile.OpI64Load, 0)
}

// Go's compiler writes for a map on the stack: a group of empty entries, a map with this one group, and its seed behind the
// generator's seed.
//
//	group.ctrl = emptyGroup
//	map.dirPtr = &group
//	map.seed = rand()
const (
	emptyGroup = -0x7f7f7f7f7f7f7f80
	seedOffset = 8
	dirOffset  = 16
	// beforeReturn is how many instructions make room for the address, before a call.
	beforeReturn = 5
)

// seedsMap reports whether a call draws the seed of a map on the stack, and nothing else.
func (c code) seedsMap(call int) bool {
	if call < beforeCall {
		return false
	}
	stack := c[call-beforeCall].Index
	at := c.result(call)
	seed, ok := c.local(at, stack)
	if at += localLength; !ok || !c.is(at, wasmfile.OpI32WrapI64) || !c.isResult(at+1, stack) || !c.isWith(at+3, wasmfile.OpI64Store, 0) {
		return false
	}
	end := call - beforeCall - beforeReturn
	at = end - 2*localLength - 2
	dir, ok := c.local(at, stack)
	if !ok || dir-dirOffset != seed-seedOffset || !c.is(at+localLength, wasmfile.OpI32WrapI64) {
		return false
	}
	group, ok := c.local(at+localLength+1, stack)
	if !ok || !c.isWith(end-1, wasmfile.OpI64Store, 0) {
		return false
	}
	at -= localLength + 3
	ctrl, ok := c.local(at, stack)
	at += localLength
	return ok && ctrl == group && c.is(at, wasmfile.OpI32WrapI64) && c.isWith(at+1, wasmfile.OpI64Const, emptyGroup) && c.isWith(at+2, wasmfile.OpI64Store, 0)
}

// The generator is a block of numbers, its seed, and three counts (internal/chacha8rand.State).
// The function that seeds it ends by setting the first two of these:
//
//	i64.const counts  i64.store offset
const counts = 32 << 32

// furthest bounds the distance of other generators from the seed, in bytes.
const furthest = 64

// words finds the generators behind it, whose first states calls draw.
func (c code) words() (words []Word) {
	behind := int64(-1)
	for at, in := range c {
		switch {
		case c.is(at, wasmfile.OpI64Store) && c.isWith(at-1, wasmfile.OpI64Const, counts):
			behind = in.Value
		case in.Op == wasmfile.OpCall && behind >= 0 && len(words) < MostWords:
			if w, ok := c.word(at, behind); ok {
				words = append(words, w)
			}
		}
	}
	return words
}

// word returns where the result of a call is stored.
func (c code) word(call int, behind int64) (w Word, known bool) {
	at := c.result(call)
	for !c.is(at, wasmfile.OpI64Store) && !c.is(at, wasmfile.OpI64Store32) {
		if at >= len(c) || c[at].Op == wasmfile.OpCall {
			return w, false
		}
		at++
	}
	if call < beforeCall || !c.isResult(at-2, c[call-beforeCall].Index) {
		return w, false
	}
	w.Size = 8
	if c.is(at, wasmfile.OpI64Store32) {
		w.Size = 4
	}
	offset := c[at].Value - behind
	w.Offset = uint32(offset)
	return w, offset > 0 && offset < furthest
}
