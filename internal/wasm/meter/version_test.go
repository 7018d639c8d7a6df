package meter_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/husk-dev/husk/internal/testkit/wasmtest"

	"github.com/husk-dev/husk/internal/wasm/meter"
)

// A host keeps rewritten modules. Where Rewrite makes something else of a module,
// [meter.Version] must change, and this hash with it.
func TestVersionChangesWithTheRewriter(t *testing.T) {
	fill := I32Const(1) + I32Const(2) + I32Const(3) + MemoryFill
	inline := I32Const(1) + I32Const(2) + I32Const(33) + MemoryFill + I32Const(1) + I32Const(2) + I32Const(48) + MemoryCopy
	grow := I32Const(1) + MemoryGrow + Drop + RefNull + I32Const(1) + TableGrow + Drop
	p := program(Loop + fill + inline + grow + I32Const(0) + BrIf(0) + End)
	p.Data = []Data{{Offset: 8, Content: "one"}, {Offset: 16, Content: "two"}}
	sum := sha256.New()
	for _, detach := range []bool{false, true} {
		for _, elements := range []uint32{200, 20} {
			sum.Write(rewrite(t, p.Encode(), meter.Options{MemoryPages: 16, TableElements: elements, Detach: detach}))
		}
	}
	require.Equal(t, 4, meter.Version)
	require.Equal(t, "d1c72440217dfba3f71f16c66959f5f43e3b23beb17530e52f9c0849f84e5be0", hex.EncodeToString(sum.Sum(nil)))
}
