//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package filelock

import (
	"errors"
	"io/fs"
	"os"
)

// Try takes the lock of an open file. On these systems no lock ends with its process, so the lock
// is a second file, which exists while the lock is held. The error is ErrHeld if another holds it.
func Try(f *os.File) (release func() error, err error) {
	name := f.Name() + HeldSuffix
	held, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, ErrHeld
	}
	if err != nil {
		return nil, err
	}
	return func() error { return os.Remove(name) }, held.Close()
}
