package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tetratelabs/wazero"
)

// diskCache keeps compiled modules. What it holds is run as machine code, and wazero
// guards it by a checksum only, so nobody but the user may write into it. wazero
// separates its entries by module, by its own version, and by the processor's features.
type diskCache struct {
	dir      string
	compiled wazero.CompilationCache
}

// openDiskCache opens or makes the cache for a memory limit, which compiled code may
// depend on.
func openDiskCache(dir string, memoryPages uint32) (*diskCache, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := privateDir(dir); err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, fmt.Sprintf("memory-%d", memoryPages))
	if err := privateDir(dir); err != nil {
		return nil, err
	}
	compiled, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, err
	}
	return &diskCache{dir: dir, compiled: compiled}, nil
}

// privateDir makes the directory, or sees to it that only its owner, who must be the
// user, can use it.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory: name another one, or remove it", dir)
	}
	if !ownedByUser(info) {
		return fmt.Errorf("%s belongs to another user, who could put machine code into it: name another directory", dir)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("%s can be used by others, who could put machine code into it: %w", dir, err)
	}
	return nil
}

// isCacheError tells whether a compilation failed because an entry is damaged.
// wazero has no error type for that, and would fail again with each attempt.
func isCacheError(err error) bool {
	return err != nil && strings.Contains(err.Error(), "compilationcache:")
}

// purge removes all entries.
func (c *diskCache) purge() error {
	var failures []error
	err := filepath.WalkDir(c.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Type().IsRegular() {
			failures = append(failures, os.Remove(path))
		}
		return nil
	})
	return errors.Join(append(failures, err)...)
}
