package known

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"

	"github.com/husk-dev/husk/internal/testkit/packedtest"
)

// Each line of the table names a module.
func TestKnownProviders(t *testing.T) {
	packedtest.RequireCurrent(t, "known.zip.gz", ".", "known.txt")
	text, err := os.ReadFile("known.txt")
	require.NoError(t, err)
	lines := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			require.Len(t, strings.Fields(line), 2, line)
			lines++
		}
	}
	all := modules()
	require.Len(t, all, lines, "a name is there twice")
	for name, path := range all {
		require.NoError(t, module.CheckPath(path), name)
		require.Contains(t, path, "/terraform-provider-", name)
	}
}
