//go:build unix

package wasi

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// isEntryName reports whether a name can be an entry of a directory.
func isEntryName(string) bool { return true }

// setFileTimes sets the times of an open file, to the microsecond.
func setFileTimes(file *os.File, access, modified time.Time) error {
	times := []unix.Timeval{unix.NsecToTimeval(access.UnixNano()), unix.NsecToTimeval(modified.UnixNano())}
	return control(file, func(fd int) error { return unix.Futimes(fd, times) })
}

// setEntryTimes sets the times of the file at a place, and follows no symbolic link.
func setEntryTimes(at *place, access, modified time.Time) error {
	times := []unix.Timespec{unix.NsecToTimespec(access.UnixNano()), unix.NsecToTimespec(modified.UnixNano())}
	return inDirectory(at.dir, func(fd int) error {
		return unix.UtimesNanoAt(fd, at.name, times, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// renameEntry and linkEntry work on entries of two open directories, wherever these are.
func renameEntry(from, to *place) error {
	return inDirectories(from.dir, to.dir, func(a, b int) error { return unix.Renameat(a, from.name, b, to.name) })
}

func linkEntry(from, to *place) error {
	return inDirectories(from.dir, to.dir, func(a, b int) error { return unix.Linkat(a, from.name, b, to.name, 0) })
}

func inDirectories(from, to *os.Root, do func(from, to int) error) error {
	return inDirectory(from, func(a int) error {
		return inDirectory(to, func(b int) error { return do(a, b) })
	})
}

// inDirectory calls do with a descriptor of an open directory.
func inDirectory(dir *os.Root, do func(fd int) error) error {
	file, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer file.Close()
	return control(file, do)
}

func control(file *os.File, do func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	if inner := raw.Control(func(fd uintptr) { err = do(int(fd)) }); inner != nil {
		return inner
	}
	return err
}
