package meter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	. "github.com/husk-dev/husk/internal/testkit/wasmtest"
	"github.com/husk-dev/husk/internal/wasm/meter"
)

// What a module copies and fills is the same with lengths that become loads and stores, and
// with those that do not, wherever it lies: beside itself, over itself, at the end of
// memory, and beyond it, where nothing is written.
func TestCopiesAndFillsOfAllLengthsDoAsBefore(t *testing.T) {
	const memory = 1 << 16
	var content strings.Builder
	for i := range 600 {
		content.WriteByte(byte(i*i/7 + i))
	}
	for _, n := range []int32{0, 7, 8, 15, 16, 17, 48, 100, 256, 257} {
		from := int32(300)
		places := []int32{0, from - 1, from, from + 1, from + 8, from + n/2, memory - n, memory - n + 1, memory - 1, memory, -1, -n, -257, -300}
		for name, code := range map[string]string{
			"a copy from":                    LocalGet(0) + I32Const(from) + I32Const(n) + MemoryCopy,
			"a copy to":                      I32Const(from) + LocalGet(0) + I32Const(n) + MemoryCopy,
			"a copy of a computed length":    LocalGet(0) + I32Const(from) + I32Const(n) + I32Const(0) + I32Add + MemoryCopy,
			"a fill":                         LocalGet(0) + I32Const(0) + I32Const(n) + MemoryFill,
			"a fill with more than a byte":   LocalGet(0) + I32Const(0x1a5) + I32Const(n) + MemoryFill,
			"a fill of a computed length":    LocalGet(0) + I32Const(0x1a5) + I32Const(n) + I32Const(0) + I32Add + MemoryFill,
			"a fill with a computed value":   LocalGet(0) + LocalGet(0) + I32Const(n) + MemoryFill,
			"a fill below a number, in turn": I32Const(5) + I32Const(-6) + LocalGet(0) + I32Const(0) + I32Const(n) + MemoryFill + Drop + Drop,
		} {
			t.Run(fmt.Sprintf("%s, %d", name, n), func(t *testing.T) {
				p := program(code)
				p.Data = []Data{{Offset: 100, Content: content.String()}, {Offset: memory - 600, Content: content.String()}}
				runtime := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
				defer runtime.Close(context.Background())
				plain, err := runtime.CompileModule(t.Context(), p.Encode())
				require.NoError(t, err)
				metered := rewrite(t, p.Encode(), meter.Options{})
				for engine, config := range engines {
					m := start(t, config, metered)
					before, _ := m.module.Memory().Read(0, memory)
					first := string(before)
					for _, at := range places {
						module, err := runtime.InstantiateModule(t.Context(), plain, wazero.NewModuleConfig().WithName(""))
						require.NoError(t, err)
						_, want := module.ExportedFunction("f").Call(t.Context(), uint64(uint32(at)))
						require.True(t, m.module.Memory().Write(0, []byte(first)))
						_, got := m.module.ExportedFunction("f").Call(t.Context(), uint64(uint32(at)))
						require.Equal(t, want == nil, got == nil, "%s at %d: %v and %v", engine, at, want, got)
						if want != nil {
							require.ErrorContains(t, got, "out of bounds memory access")
						}
						expected, _ := module.Memory().Read(0, memory)
						after, _ := m.module.Memory().Read(0, memory)
						if string(expected) != string(after) { // too much to print
							t.Fatalf("%s at %d: the memory differs", engine, at)
						}
					}
				}
			})
		}
	}
}
