// Package testcache keeps files that tests make or fetch once and use often, such as packages of other languages or an empty
// database, in the user's cache directory. Their contents depend on their name alone.
package testcache

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/filelock"
)

// complete is a file of a directory whose content is complete.
const complete = "complete"

// Dir returns the directory of a name. If it is not there yet, fill makes its content in an empty directory. Other tests wait for
// that, even in other processes.
func Dir(t testing.TB, name string, fill func(dir string) error) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := filepath.Join(cache, "husk-test-programs", strings.NewReplacer("@", "-", "/", "-", " ", "-").Replace(name))
	isComplete := func() bool {
		_, err := os.Stat(filepath.Join(dir, complete))
		return err == nil
	}
	if isComplete() {
		return dir
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	release := lock(t, dir+".lock")
	defer release()
	if isComplete() { // another test has filled it
		return dir
	}
	require.NoError(t, errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)))
	require.NoError(t, fill(dir))
	require.NoError(t, atomicfile.Write(filepath.Join(dir, complete), nil, 0o644))
	return dir
}

// lock waits until no other process holds the lock of a file.
func lock(t testing.TB, file string) (release func()) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	require.NoError(t, err)
	for {
		unlock, err := filelock.Try(f)
		if errors.Is(err, filelock.ErrHeld) {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		require.NoError(t, err)
		return func() { require.NoError(t, errors.Join(unlock(), f.Close())) }
	}
}
