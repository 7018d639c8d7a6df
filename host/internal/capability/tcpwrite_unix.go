//go:build unix

package capability

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// writeNow sends what the system takes at once, which may be nothing.
func writeNow(conn net.Conn, p []byte) (n int, err error) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		for {
			n, failed = unix.Write(int(fd), p)
			if failed != unix.EINTR {
				return true
			}
		}
	})
	n = max(n, 0)
	if failed == unix.EAGAIN {
		failed = nil
	}
	if err == nil {
		err = failed
	}
	return n, err
}

// awaitWritable returns once the system takes more, or the connection has ended.
func awaitWritable(conn net.Conn) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return
	}
	// It fails if the connection was closed, which a write tells.
	_ = raw.Write(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(poll, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}
