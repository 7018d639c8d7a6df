//go:build unix

package codecache

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"
)

// view passes on the content of a file, which must not be kept. It is mapped: reading
// 20 MB of machine code into new memory takes four times as long as checking it.
func view(file *os.File, use func([]byte) error) (err error) {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || int64(int(info.Size())) != info.Size() {
		return fmt.Errorf("mapping %s: it is not a regular file that fits into memory", file.Name())
	}
	if info.Size() == 0 {
		return use(nil)
	}
	content, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("mapping %s: %w", file.Name(), err)
	}
	defer func() { _ = unix.Munmap(content) }() // it is mapped
	// A look behind the end of a file that was cut off meanwhile is an error, too.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		failure := recover()
		if fault, ok := failure.(interface {
			runtime.Error
			Addr() uintptr
		}); ok {
			first := uintptr(unsafe.Pointer(unsafe.SliceData(content)))
			if at := fault.Addr(); at >= first && at-first < uintptr(len(content)) {
				err = fmt.Errorf("reading %s: %w", file.Name(), io.ErrUnexpectedEOF)
				return
			}
		}
		if failure != nil {
			panic(failure)
		}
	}()
	return use(content)
}
