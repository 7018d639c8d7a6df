//go:build unix

package system

import "syscall"

// OpenFiles returns half of the number of files that the process may open, and at least least.
func OpenFiles(least int) int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return maxOpenFiles
	}
	return int(max(min(uint64(limit.Cur)/2, maxOpenFiles), uint64(least)))
}

// maxOpenFiles is more than hosts are known to need. Some systems know no limit.
const maxOpenFiles = 1 << 16
