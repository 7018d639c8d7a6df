package codecache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Other processes read an entry while this one restores it, also if it is restored already.
func TestRestoringLeavesTheEntryAsItIs(t *testing.T) {
	c, err := Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(t.Context())) })
	entry, name := filepath.Join(c.dir, "entry"), strings.Repeat("ab", 32)
	require.NoError(t, os.WriteFile(entry+codeSuffix, []byte("code"), 0o600))
	require.NoError(t, os.WriteFile(entry+sealSuffix, append(c.seals.seal(sealed(entry, name), []byte("code")), name...), 0o600))
	reader, err := os.Open(entry + codeSuffix)
	require.NoError(t, err)
	defer reader.Close()
	before, err := reader.Stat()
	require.NoError(t, err)

	for range 2 {
		restored, ok := c.restore(entry)
		require.True(t, ok)
		code, err := os.ReadFile(filepath.Join(c.files, restored))
		require.NoError(t, err)
		require.Equal(t, "code", string(code))
	}
	after, err := reader.Stat()
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime())
}
