//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"syscall"
)

// isOwned reports whether a file and its directory belong to the user of this process.
func isOwned(file string) (bool, error) {
	for _, name := range []string{file, filepath.Dir(file)} {
		info, err := os.Lstat(name)
		if err != nil {
			return false, err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
			return false, nil
		}
	}
	return true, nil
}
