//go:build unix

package compiletime

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of the process, in user and system mode.
func processorTime() (time.Duration, bool) {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0, false
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), true
}
