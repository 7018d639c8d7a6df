package processor

import (
	"time"

	"golang.org/x/sys/unix"
)

// Of returns the processor time of another process so far.
func Of(pid int) time.Duration {
	// The number of a process's clock, as clock_getcpuclockid(3) makes it: the scheduler's
	// times, in nanoseconds.
	const scheduled = 2
	var used unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|scheduled), &used) != nil {
		return 0
	}
	return time.Duration(used.Nano())
}
