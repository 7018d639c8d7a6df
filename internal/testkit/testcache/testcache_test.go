package testcache_test

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/testcache"
)

// A directory is filled once, however many ask for it, and again if that was not finished.
func TestDirIsFilledOnce(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("LocalAppData", t.TempDir())
	var fills atomic.Int32
	get := func() string {
		return testcache.Dir(t, "a thing@1/2", func(dir string) error {
			fills.Add(1)
			return os.WriteFile(filepath.Join(dir, "thing"), []byte("made"), 0o600)
		})
	}
	var asking sync.WaitGroup
	for range 3 {
		asking.Go(func() { get() })
	}
	asking.Wait()
	require.EqualValues(t, 1, fills.Load())
	dir := get()
	require.Equal(t, "a-thing-1-2", filepath.Base(dir))
	require.FileExists(t, filepath.Join(dir, "thing"))

	require.NoError(t, os.Remove(filepath.Join(dir, "complete")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "half"), nil, 0o600))
	require.Equal(t, dir, get())
	require.EqualValues(t, 2, fills.Load())
	require.NoFileExists(t, filepath.Join(dir, "half"))
}
