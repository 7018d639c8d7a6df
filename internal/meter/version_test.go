package meter_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/husk-dev/husk/internal/wasmtest"

	"github.com/husk-dev/husk/internal/meter"
)

// A host keeps rewritten modules. Where Rewrite makes something else of a module,
// [meter.Version] must change, and this hash with it.
func TestVersionChangesWithTheRewriter(t *testing.T) {
	fill := I32Const(1) + I32Const(2) + I32Const(3) + MemoryFill
	inline := I32Const(1) + I32Const(2) + I32Const(33) + MemoryFill + I32Const(1) + I32Const(2) + I32Const(48) + MemoryCopy
	p := program(Loop + fill + inline + I32Const(0) + BrIf(0) + End)
	p.Data = []Data{{Offset: 8, Content: "one"}, {Offset: 16, Content: "two"}}
	sum := sha256.New()
	for _, detach := range []bool{false, true} {
		sum.Write(rewrite(t, p.Encode(), meter.Options{MemoryPages: 16, TableElements: 200, Detach: detach}))
	}
	require.Equal(t, 2, meter.Version)
	require.Equal(t, "ac871a7971d1321904d45b2a5c5a4db8153659ab3805041016e2d2839f0739e9", hex.EncodeToString(sum.Sum(nil)))
}
