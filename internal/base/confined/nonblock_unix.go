//go:build unix

package confined

import "syscall"

// Nonblock prevents the opening of a pipe from waiting for its other end.
const Nonblock = syscall.O_NONBLOCK
