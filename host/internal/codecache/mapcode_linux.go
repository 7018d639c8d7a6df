//go:build amd64 || arm64

package codecache

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// mapText finds the executable memory of a size that begins with the mark, and maps the file in its place.
// It reports whether there is such memory.
func mapText(file *os.File, size int, mark []byte) (found bool, err error) {
	at, err := findText(size, mark)
	if at == 0 || err != nil {
		return false, err
	}
	_, _, failure := unix.Syscall6(unix.SYS_MMAP, at, uintptr(size), unix.PROT_READ|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_FIXED, file.Fd(), 0)
	if failure != 0 {
		return true, failure
	}
	return true, nil
}

// remote are the types of file systems (statfs(2)) from which a file can vanish while it is mapped: AFS, CIFS, FUSE,
// NFS, SMB, and 9P. Code on a page that cannot be read any more would end the process.
var remote = []int64{0x5346414f, 0xff534d42, 0x65735546, 0x6969, 0x517b, 0xfe534d42, 0x01021997}

// keepsMapped reports whether mapped files of the directory stay there.
func keepsMapped(dir string) bool {
	var system unix.Statfs_t
	return unix.Statfs(dir, &system) == nil && !slices.Contains(remote, int64(uint32(system.Type)))
}

// canMapText reports whether a file can be mapped, and the memory for it can be found.
func canMapText(file *os.File) bool {
	at, err := unix.Mmap(int(file.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err != nil {
		return false // its file system may forbid to execute
	}
	_ = unix.Munmap(at) // it is mapped
	_, err = findText(0, nil)
	return err == nil
}

// findText returns the address of the memory, 0 if there is none. The kernel joins mappings that touch, so
// the memory may begin at any page of one.
func findText(size int, mark []byte) (uintptr, error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	defer maps.Close()
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return 0, err
	}
	defer memory.Close()
	begin, page := make([]byte, len(mark)), uintptr(os.Getpagesize())
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		var start, end uintptr
		var rights, offset, device string
		var inode uint64
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s %s %s %d", &start, &end, &rights, &offset, &device, &inode); n != 6 || rights != "r-xp" || inode != 0 {
			continue
		}
		for at := start; at+uintptr(size) <= end; at += page {
			// Memory that another goroutine unmaps meanwhile is an error.
			if _, err := memory.ReadAt(begin, int64(at)); err != nil {
				break
			}
			if bytes.Equal(begin, mark) {
				return at, nil
			}
		}
	}
	return 0, lines.Err()
}
