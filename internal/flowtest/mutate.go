package flowtest

import (
	"encoding/binary"
	"slices"

	"github.com/husk-dev/husk/internal/wasmfile"

	wasm "github.com/husk-dev/husk/internal/wasmtest"
)

// Mutate returns a module with a small change of its i-th function, which the choices define. Many
// changes make it invalid.
func Mutate(m *wasmfile.Module, i int, choices []byte) []byte {
	g := &generator{choices: choices}
	code := instructions(m, i)
	for range 1 + g.choose(2) {
		code = g.mutate(code)
	}
	x := wasmfile.Extension{Code: make([][]byte, len(m.Bodies))}
	x.Code[i] = append(slices.Concat(code...), wasm.End...)
	return m.Extend(x)
}

// instructions returns those of the i-th function that a module defines, without the last end.
func instructions(m *wasmfile.Module, i int) (all [][]byte) {
	code := m.Code(i)
	raw := code.Bytes()
	for in := (wasmfile.Instruction{}); code.Next(&in); {
		all = append(all, raw[in.Start:in.End])
	}
	return all[:len(all)-1]
}

func (g *generator) mutate(code [][]byte) [][]byte {
	if len(code) == 0 {
		return code
	}
	at := (g.choose(256)<<8 | g.choose(256)) % len(code)
	until := min(at+1+g.choose(4), len(code))
	insert := func(at int, texts ...string) [][]byte {
		var more [][]byte
		for _, text := range texts {
			more = append(more, []byte(text))
		}
		return slices.Insert(slices.Clone(code), at, more...)
	}
	replace := func(text string) [][]byte {
		return slices.Replace(slices.Clone(code), at, at+1, []byte(text))
	}
	n := int32(g.choose(8))
	switch g.choose(14) {
	case 0:
		return slices.Delete(slices.Clone(code), at, at+1)
	case 1:
		return slices.Delete(slices.Clone(code), at, until)
	case 2:
		return slices.Insert(slices.Clone(code), at, code[at])
	case 3:
		from := g.choose(len(code))
		return slices.Insert(slices.Clone(code), at, code[from:min(from+1+g.choose(4), len(code))]...)
	case 4:
		with := min(at+1, len(code)-1)
		code = slices.Clone(code)
		code[at], code[with] = code[with], code[at]
		return code
	case 5:
		with := g.choose(len(code))
		code = slices.Clone(code)
		code[at], code[with] = code[with], code[at]
		return code
	case 6:
		return insert(at, wasm.I32Const(n), wasm.LocalSet(Parameter))
	case 7:
		return insert(at, []string{wasm.I32Eqz, wasm.Nop, wasm.Drop, wasm.Return, wasm.Unreachable, wasm.End, wasm.Block, wasm.Loop, wasm.LocalTee(Parameter)}[g.choose(9)])
	case 8:
		return insert(at, wasm.LocalGet(Parameter), wasm.Call(Tell))
	}
	return replace(g.similar(code[at], n))
}

// similar returns an instruction that resembles another one.
func (g *generator) similar(instruction []byte, n int32) string {
	switch op := instruction[0]; {
	case op == wasm.Br(0)[0]:
		return []string{wasm.Br(uint32(n)), wasm.BrIf(uint32(n))}[g.choose(2)]
	case op == wasm.BrIf(0)[0]:
		return []string{wasm.BrIf(uint32(n)), wasm.I32Eqz + wasm.BrIf(instructionIndex(instruction)), wasm.Drop + wasm.Br(instructionIndex(instruction))}[g.choose(3)]
	case op == wasm.I32Const(0)[0]:
		return wasm.I32Const(n - 2)
	case op == wasm.I64Const(0)[0]:
		return wasm.I64Const(int64(n) - 2)
	case op == wasm.LocalGet(0)[0]:
		return wasm.LocalGet(uint32(n % 4))
	case op == wasm.LocalSet(0)[0]:
		return wasm.LocalSet(uint32(n % 4))
	case op == wasm.LocalTee(0)[0]:
		return []string{wasm.LocalTee(uint32(n % 4)), wasm.LocalSet(instructionIndex(instruction)), wasm.Nop}[g.choose(3)]
	case op == wasm.Call(0)[0]:
		return wasm.Call(uint32(n % (Functions + 1)))
	case op >= wasm.I32Eq[0] && op < wasm.I32Eq[0]+comparisons:
		return comparison(wasm.I32Eq[0], int(n))
	case op > wasm.I64Eqz[0] && op <= wasm.I64Eqz[0]+comparisons:
		return comparison(wasm.I64Eqz[0]+1, int(n))
	case op == wasm.I32Eqz[0]:
		return wasm.Nop
	case op == wasm.I32Add[0]:
		return []string{wasm.I32Sub, wasm.I32And}[g.choose(2)]
	case op == wasm.I64Add[0]:
		return wasm.I64Sub
	case op == wasm.I64ExtendI32U[0]:
		return wasm.I64ExtendI32S
	case op == wasm.If[0]:
		return wasm.I32Eqz + wasm.If
	case op == wasm.Else[0]:
		return []string{wasm.Nop, wasm.Else + wasm.Nop}[g.choose(2)]
	}
	return wasm.Nop
}

// instructionIndex returns the number after an opcode of one byte.
func instructionIndex(instruction []byte) uint32 {
	index, _ := binary.Uvarint(instruction[1:])
	return uint32(index)
}
