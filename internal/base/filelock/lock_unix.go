//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Try takes the lock of an open file. The lock belongs to the open file, so it ends when the
// process does. The error is ErrHeld if another holds it.
func Try(f *os.File) (release func() error, err error) {
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, ErrHeld
	}
	if err != nil {
		return nil, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	return func() error { return nil }, nil // closing the file releases it
}
