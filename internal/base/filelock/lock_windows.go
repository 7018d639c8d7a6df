package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset is far behind the contents, which others must be able to read: a lock on Windows bars them from the locked bytes.
const lockOffset = 1 << 31

// Try takes the lock of an open file. The lock belongs to the open file, so it ends when the
// process does. The error is ErrHeld if another holds it.
func Try(f *os.File) (release func() error, err error) {
	const one = 1
	at := windows.Overlapped{OffsetHigh: lockOffset}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, one, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return nil, ErrHeld
	}
	if err != nil {
		return nil, &os.PathError{Op: "LockFileEx", Path: f.Name(), Err: err}
	}
	return func() error { return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, one, 0, &at) }, nil
}
