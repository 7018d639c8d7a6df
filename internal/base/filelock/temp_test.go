package filelock_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/filelock"
)

// Who removes what was left removes no file that another process locks, not even one that it has just made.
func TestTempIsThereWhileItIsLocked(t *testing.T) {
	dir := t.TempDir()
	done := make(chan struct{})
	var clearing sync.WaitGroup
	for range 2 {
		clearing.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				files, _ := filepath.Glob(filepath.Join(dir, "run-*"))
				for _, name := range files {
					file, err := os.OpenFile(name, os.O_RDWR, 0)
					if err != nil {
						continue // it was removed
					}
					if release, err := filelock.Try(file); err == nil {
						_ = filelock.Remove(file, release)
					} else {
						_ = file.Close()
					}
				}
			}
		})
	}
	defer clearing.Wait()
	defer close(done)
	for range 2000 {
		file, release, err := filelock.Temp(dir, "run-*")
		require.NoError(t, err)
		require.FileExists(t, file.Name())
		require.NoError(t, filelock.Remove(file, release))
		require.NoFileExists(t, file.Name())
	}
}
