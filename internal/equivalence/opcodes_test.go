package equivalence

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/internal/wasmfile"
	. "github.com/husk-dev/husk/internal/wasmtest"
)

// around is a module that has all that an instruction may name.
func around(code string) []byte {
	return Module{
		Types: []Type{{}}, Functions: []Function{{Locals: I32, Code: code}},
		Tables: []string{Funcref + Limits(1)}, Memories: []string{Limits(1)},
		Globals:  []Global{{Type: I32[0], Mutable: true, Init: I32Const(0)}},
		Exports:  []Export{{Name: "f"}},
		Elements: []uint32{0}, Data: []Data{{Passive: true}},
	}.Encode()
}

// written is an instruction with some immediates that fit its opcode.
func written(t *testing.T, op wasmfile.Opcode) string {
	t.Helper()
	bytes := string([]byte{byte(op)})
	if op > 0xff {
		bytes = string([]byte{byte(op >> 8)}) + Unsigned(uint64(op&0xff))
	}
	for _, immediates := range []string{"", "\x00", "\x00\x00", "\x00\x00\x00", Funcref, "\x01" + I32,
		strings.Repeat("\x00", 4), strings.Repeat("\x00", 8), strings.Repeat("\x00", 16)} {
		m, err := wasmfile.Read(around(bytes+immediates), wasmfile.DefaultLimits())
		if err != nil {
			continue
		}
		code := m.Code(0)
		if in := (wasmfile.Instruction{}); code.Next(&in) && in.Op == op && in.End == len(bytes+immediates) {
			return bytes + immediates
		}
	}
	t.Fatalf("no immediates are those of %x", op)
	return ""
}

// The engine takes each instruction with as many operands as the table says, and with no fewer, and it
// has as many results.
func TestOperandsAreThoseOfTheEngine(t *testing.T) {
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer r.Close(context.Background())
	values := []string{
		I32Const(0), I64Const(0), "\x43" + strings.Repeat("\x00", 4), "\x44" + strings.Repeat("\x00", 8),
		"\xfd\x0c" + strings.Repeat("\x00", 16), RefNull,
	}
	// valid reports whether there are operands of some types with which the instruction is valid.
	var valid func(operands string, more, pushes int, instruction string) bool
	valid = func(operands string, more, pushes int, instruction string) bool {
		if more == 0 {
			compiled, err := r.CompileModule(t.Context(), around(operands+instruction+strings.Repeat(Drop, pushes)))
			return err == nil && compiled.Close(t.Context()) == nil
		}
		for _, v := range values {
			if valid(operands+v, more-1, pushes, instruction) {
				return true
			}
		}
		return false
	}
	known := 0
	for op := range wasmfile.Opcode(0xfe00) {
		pops, pushes, ok := operands(op)
		if !ok {
			continue
		}
		known++
		instruction := written(t, op)
		require.True(t, valid("", int(pops), int(pushes), instruction), "%x", op)
		if pops > 0 && pushes > 0 {
			require.False(t, valid("", int(pops)-1, int(pushes)-1, instruction), "%x", op)
		}
	}
	require.Equal(t, 437, known+13, "all of WebAssembly 2.0, with what control and calls are made of")
}
