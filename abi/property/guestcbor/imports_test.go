package guestcbor_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestImports: guests link this codec, so it must not pull in what makes modules
// large and slow.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".", "../../urn").Output()
	require.NoError(t, err)
	deps := strings.Fields(string(out))
	require.Contains(t, deps, "github.com/husk-dev/husk/abi/property")
	for _, heavy := range []string{"fmt", "reflect", "encoding/json", "os", "github.com/fxamacker/cbor/v2"} {
		require.NotContains(t, deps, heavy)
	}
}
