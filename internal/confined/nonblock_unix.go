//go:build unix

package confined

import "syscall"

// nonblock prevents the opening of a pipe from waiting for its other end.
const nonblock = syscall.O_NONBLOCK
