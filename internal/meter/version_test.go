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
	p := program(Loop + I32Const(1) + I32Const(2) + I32Const(3) + "\xfc\x0b\x00" + I32Const(0) + BrIf(0) + End)
	p.Data = []Data{{Offset: 8, Content: "one"}, {Offset: 16, Content: "two"}}
	sum := sha256.New()
	for _, detach := range []bool{false, true} {
		sum.Write(rewrite(t, p.Encode(), meter.Options{MemoryPages: 16, TableElements: 200, Detach: detach}))
	}
	require.Equal(t, 1, meter.Version)
	require.Equal(t, "aff6b25f03ba53d906c39a8c76d474eafee8f23bb5a846120851c7cd5e2e1d2e", hex.EncodeToString(sum.Sum(nil)))
}
