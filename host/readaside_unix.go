//go:build unix

package host

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// readAside calls a function with the content of a file, in memory that is given back when
// it returns. Machine code is 20 MB and more, is looked at once, and would stay with the
// process for minutes as garbage.
func readAside(path string, use func(content []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 || int64(int(info.Size())) != info.Size() {
		return use(nil)
	}
	// It is not the file that is mapped: one that is cut off meanwhile would end the process.
	content, err := unix.Mmap(-1, 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	if _, err = io.ReadFull(file, content); err == nil {
		err = use(content)
	}
	if failed := unix.Munmap(content); err == nil {
		err = failed
	}
	return err
}
