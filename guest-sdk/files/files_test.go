//go:build unix

package files_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/guest-sdk/files"
)

func TestMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	require.NoError(t, files.SetMode(t.Context(), path, 0o600|fs.ModeSetuid))
	mode, err := files.Mode(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), mode, "the permission bits alone")

	_, err = files.Mode(t.Context(), path+"x")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, files.SetMode(t.Context(), path+"x", 0o600), fs.ErrNotExist)
}
