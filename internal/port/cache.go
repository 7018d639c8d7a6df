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
