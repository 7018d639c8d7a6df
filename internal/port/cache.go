package port

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// keep returns the directory in the cache for a kind of contents that a key identifies. Where there is none
// yet, fill writes the contents to an empty directory, which then appears as a whole: two processes may keep
// the same at the same time.
func (b *porter) keep(kind, key string, fill func(dir string) error) (string, error) {
	kept := filepath.Join(b.dir, kind, short(key))
	if now := time.Now(); os.Chtimes(kept, now, now) == nil {
		return kept, nil
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(b.dir, kind+"-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	if err := fill(made); err != nil {
		return "", err
	}
	if err := os.Rename(made, kept); err != nil {
		if _, there := os.Stat(kept); there == nil { // another process was faster
			return kept, nil
		}
		return "", fmt.Errorf("keeping what the build needs: %w", err)
	}
	return kept, nil
}

// short returns a name for a key that fits into paths.
func short(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:10])
}

// missing reports whether an error says that there is no such file.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// KeptUnused is how long the cache keeps what no port uses.
const KeptUnused = 90 * 24 * time.Hour

// Prune removes from the directory of ports what was not used since then, and returns how many bytes that
// were. What cannot be removed stays until the next time.
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

// CacheSize returns the size of the directory of ports in bytes.
func CacheSize(dir string) (size int64, err error) {
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
