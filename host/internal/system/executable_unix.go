//go:build unix

package system

import (
	"os"

	"golang.org/x/sys/unix"
)

// executableMemory reports whether memory that was written can be made executable, which
// hardened systems refuse: SELinux's execmem, or systemd's
// MemoryDenyWriteExecute.
func executableMemory() bool {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	err = unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC)
	return unix.Munmap(page) == nil && err == nil
}
