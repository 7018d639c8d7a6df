//go:build unix

package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// executableMemory tells whether memory that was written can be made executable, which
// some systems refuse for the sake of hardening: SELinux's execmem, or systemd's
// MemoryDenyWriteExecute.
func executableMemory() bool {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	err = unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC)
	return unix.Munmap(page) == nil && err == nil
}
