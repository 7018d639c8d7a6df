package root

import (
	"runtime"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// firstPercent is the value of GOGC until the first collection, which is at 4 MB for 100: at 32 MB, which few commands reach.
	firstPercent = 800
	// defaultPercent is the value of GOGC that nobody has set.
	defaultPercent = 100
	// laterShare is the factor of the usual GOGC after it: the next collection is when the heap has tripled, not doubled.
	laterShare = 2
	// littleMemory is the memory limit, in bytes, of a process for which that is too much.
	littleMemory = 512 << 20
	// heapShare is the part of little memory that the heap may take before the collector works
	// harder. Machine code and the memory of providers take most of the rest.
	heapShare = 4
)

// tuneCollector sets the garbage collector up for a short process: fast if there is memory, thrifty if the process's control
// group has little.
func tuneCollector() {
	limit, err := memlimit.FromCgroup()
	if err == nil && limit < littleMemory {
		debug.SetMemoryLimit(int64(limit / heapShare))
		return
	}
	usual := debug.SetGCPercent(firstPercent)
	if usual != defaultPercent { // the user's choice
		debug.SetGCPercent(usual)
		return
	}
	// The first collection finds this unused.
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, laterShare*usual)
}
