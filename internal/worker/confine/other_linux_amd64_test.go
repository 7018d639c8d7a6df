package confine_test

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	// getpid of x32. A kernel without it says that there is no such call.
	fatal["x32"] = func() { _ = call(0x40000000 | unix.SYS_GETPID) }
	// getpid of i386: mov eax, 20; int 0x80; ret.
	fatal["i386"] = func() {
		code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
		must(err)
		copy(code, []byte{0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3})
		at := &code[0]
		function := unsafe.Pointer(&at)
		(*(*func())(unsafe.Pointer(&function)))()
	}
}
