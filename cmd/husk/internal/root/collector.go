package root

import (
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// unusedHeap, in bytes, counts as heap in use, but takes no memory because nothing writes it.
	// The collector begins when the heap has doubled, which for a process that ends after a tenth of
	// a second is at every turn. With this much in use it begins at 64 MB.
	unusedHeap = 32 << 20
	// littleMemory is the memory limit, in bytes, of a process for which that is too much.
	littleMemory = 512 << 20
	// heapShare is the part of little memory that the heap may take before the collector works
	// harder. Machine code and the memory of providers take most of the rest.
	heapShare = 4
)

// tuneCollector sets the garbage collector up for a short process: fast if there is memory, thrifty if the process's control
// group has little. It returns an allocation that must stay alive for that.
func tuneCollector() []byte {
	limit, err := memlimit.FromCgroup()
	if err != nil || limit >= littleMemory {
		return make([]byte, unusedHeap)
	}
	debug.SetMemoryLimit(int64(limit / heapShare))
	return nil
}
