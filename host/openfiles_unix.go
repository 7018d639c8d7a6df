//go:build unix

package host

import "syscall"

// defaultTotalOpenFiles is half of what the process may open.
func defaultTotalOpenFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return mostOpenFiles
	}
	return int(max(min(uint64(limit.Cur)/2, mostOpenFiles), DefaultOpenFiles))
}

// mostOpenFiles is more than hosts are known to need. Some systems know no limit.
const mostOpenFiles = 1 << 16
