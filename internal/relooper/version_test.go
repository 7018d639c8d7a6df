package relooper_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/husk-dev/husk/internal/flowtest"

	"github.com/husk-dev/husk/internal/relooper"
)

// A host keeps rewritten modules. Where Rewrite makes something else of a module, [relooper.Version] must
// change, and this hash with it.
func TestVersionChangesWithTheRewriter(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	sum := sha256.New()
	for oddness := range 90 {
		choices := Choices(random, 150)
		choices[0] = byte(oddness)
		code, _ := Generate(choices)
		sum.Write(rewrite(t, Around(code).Encode()))
	}
	require.Equal(t, "3.1", relooper.Version)
	require.Equal(t, "1341e722b109ce53a848737b03d591d82bbc6a3b6ac71e6cfa7a00441b4a1406", hex.EncodeToString(sum.Sum(nil)))
}
