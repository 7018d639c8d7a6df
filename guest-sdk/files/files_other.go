//go:build !wasip1

package files

import (
	"context"
	"io/fs"
	"os"
)

// SetMode sets the permission bits of a file or directory, as chmod does.
func SetMode(_ context.Context, path string, mode fs.FileMode) error {
	return os.Chmod(path, mode.Perm())
}

// Mode returns the permission bits of a file or directory.
func Mode(_ context.Context, path string) (fs.FileMode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Mode().Perm(), nil
}
