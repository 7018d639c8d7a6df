// Package portcache measures and prunes what ports of providers leave in the cache. It is apart from package port, so that a program
// that ports nothing need not link that.
package portcache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// KeptUnused is how long the cache keeps unused files.
const KeptUnused = 90 * 24 * time.Hour

// Prune removes files from the directory of ports that were not used since then, and returns how many bytes it freed. Files that
// cannot be removed stay until the next time.
func Prune(dir string, since time.Time) (removed int64, err error) {
	err = eachKept(dir, func(path string, used time.Time) error {
		if used.After(since) {
			return nil
		}
		size, err := sizeOf(path)
		if err == nil {
			err = os.RemoveAll(path)
		}
		if err == nil {
			removed += size
		}
		return err
	})
	return removed, err
}

// Size returns the size of the directory of ports in bytes.
func Size(dir string) (size int64, err error) {
	err = eachKept(dir, func(path string, _ time.Time) error {
		one, err := sizeOf(path)
		size += one
		return err
	})
	return size, err
}

// eachKept calls f with each directory that keep has made, and joins its errors.
func eachKept(dir string, f func(path string, used time.Time) error) error {
	var failures []error
	for _, kind := range []string{"source", "sdk", "patched", "build"} {
		entries, err := os.ReadDir(filepath.Join(dir, kind))
		if err != nil && !missing(err) {
			failures = append(failures, err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err == nil {
				err = f(filepath.Join(dir, kind, e.Name()), info.ModTime())
			}
			if !missing(err) { // another process may have removed it
				failures = append(failures, err)
			}
		}
	}
	return errors.Join(failures...)
}

func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// missing reports whether an error says that there is no such file.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
