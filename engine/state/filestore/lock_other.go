//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package filestore

import (
	"errors"
	"io/fs"
	"os"
)

// lockFile takes a lock where the system has none that end with a process: a
// second file that exists while the lock is held. After a crash it stays, until
// the store's Break removes it.
func lockFile(f *os.File) (release func() error, err error) {
	name := f.Name() + heldSuffix
	held, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, filePerm)
	if errors.Is(err, fs.ErrExist) {
		return nil, ErrHeld
	}
	if err != nil {
		return nil, err
	}
	return func() error { return os.Remove(name) }, held.Close()
}
