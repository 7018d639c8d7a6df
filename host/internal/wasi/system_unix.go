//go:build unix

package wasi

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// openNonblock keeps the opening of a pipe from waiting for its other end.
const openNonblock = unix.O_NONBLOCK

// setFileTimes sets the times of an open file, to the microsecond.
func setFileTimes(file *os.File, access, modified time.Time) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	times := []unix.Timeval{unix.NsecToTimeval(access.UnixNano()), unix.NsecToTimeval(modified.UnixNano())}
	if inner := raw.Control(func(fd uintptr) { err = unix.Futimes(int(fd), times) }); inner != nil {
		return inner
	}
	return err
}
