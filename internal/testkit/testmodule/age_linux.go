package testmodule

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// builtSince returns a time before which the go command has read no source of this process, the zero
// time if that is not known. It is when the go command made its working directory, which has this
// program in a directory.
func builtSince() time.Time {
	program, err := os.Executable()
	if err != nil {
		return time.Time{}
	}
	return stat(filepath.Dir(filepath.Dir(program)), unix.STATX_BTIME, func(s *unix.Statx_t) unix.StatxTimestamp { return s.Btime })
}

// changedAt returns when a file was written, or put into its place.
func changedAt(file string) time.Time {
	return stat(file, unix.STATX_CTIME, func(s *unix.Statx_t) unix.StatxTimestamp { return s.Ctime })
}

func stat(path string, field uint32, of func(*unix.Statx_t) unix.StatxTimestamp) time.Time {
	var s unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, 0, int(field), &s) != nil || s.Mask&field == 0 {
		return time.Time{}
	}
	at := of(&s)
	return time.Unix(at.Sec, int64(at.Nsec))
}
