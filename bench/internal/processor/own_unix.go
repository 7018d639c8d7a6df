//go:build unix

package processor

import (
	"syscall"
	"time"
)

// Own is what this process has used.
func Own() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Children is what the processes that this one has started, and waited for, have used.
func Children() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
