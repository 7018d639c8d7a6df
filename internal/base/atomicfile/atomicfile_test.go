package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/atomicfile"
)

func TestWrite(t *testing.T) {
	for name, write := range map[string]func(string, []byte, fs.FileMode) error{
		"synced": atomicfile.Write, "unsynced": atomicfile.WriteUnsynced,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			for _, c := range []struct {
				content string
				mode    fs.FileMode
			}{{"first", 0o600}, {"", 0o644}, {"later", 0o600}} {
				require.NoError(t, write(path, []byte(c.content), c.mode))
				content, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, c.content, string(content))
				info, err := os.Stat(path)
				require.NoError(t, err)
				if runtime.GOOS != "windows" {
					require.Equal(t, c.mode, info.Mode())
				}
			}
			requireFiles(t, dir, "file")
			missing := filepath.Join(dir, "missing", "file")
			err := write(missing, nil, 0o600)
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.ErrorContains(t, err, "write "+missing+": ")
		})
	}
}

// A name that cannot be given leaves nothing behind.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "directory")
	require.NoError(t, os.MkdirAll(filepath.Join(taken, "within"), 0o700))
	require.Error(t, atomicfile.Write(taken, []byte("x"), 0o600))
	requireFiles(t, dir, "directory")
}

// Of several that create a file one makes it, and all find what that one has written.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	var all sync.WaitGroup
	outcomes := make([]bool, 8)
	errs := make([]error, len(outcomes))
	for i := range outcomes {
		all.Go(func() { outcomes[i], errs[i] = atomicfile.Create(path, []byte(strconv.Itoa(i))) })
	}
	all.Wait()
	made := 0
	for i, mine := range outcomes {
		require.NoError(t, errs[i])
		if mine {
			made++
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, strconv.Itoa(i), string(content))
		}
	}
	require.Equal(t, 1, made)
	requireFiles(t, dir, "key")
}

func requireFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	require.Equal(t, want, found)
}
