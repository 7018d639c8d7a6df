package codecache

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesAreViewed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	content := make([]byte, 3*os.Getpagesize())
	content[len(content)-1] = 7
	require.NoError(t, os.WriteFile(path, content, 0o600))
	require.NoError(t, viewFile(path, func(got []byte) error {
		require.Equal(t, content, got)
		return nil
	}))
	require.ErrorIs(t, viewFile(path, func([]byte) error { return ErrNotCached }), ErrNotCached)
	require.ErrorIs(t, viewFile(path+"x", nil), fs.ErrNotExist)
	require.PanicsWithValue(t, "else", func() { _ = viewFile(path, func([]byte) error { panic("else") }) })
	if runtime.GOOS != "windows" { // where no file shrinks that is open
		sum := byte(0)
		require.ErrorIs(t, viewFile(path, func(got []byte) error {
			require.NoError(t, os.Truncate(path, 10))
			sum = got[len(got)-1]
			return nil
		}), io.ErrUnexpectedEOF, sum)
	}
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, viewFile(path, func(got []byte) error {
		require.Empty(t, got)
		return nil
	}))
}
