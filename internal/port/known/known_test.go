package known

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
)

// Each line of the table names a module.
func TestKnownProviders(t *testing.T) {
	lines := 0
	for line := range strings.Lines(text) {
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
