package host

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// A compilation takes memory in steps: the profile in the interpreter some 16 times the module's size, and the
// machine code some 14 times. Go's collector would let each step double what the one before it has left. For
// large modules it keeps within a limit, so that one of 64 MB compiles in 2 GB.
const (
	// largeModule is the size in bytes from which memory is saved. Smaller modules need less than 1 GB.
	largeModule = 32 << 20
	// largeShare is how much memory of Go's a compilation has, in sizes of its module. The machine code is
	// beside that.
	largeShare = 20
)

// collector is the setting of Go's collector, which all of the process share, while large modules are compiled.
var collector struct {
	mu sync.Mutex
	// sizes are of the modules that are being compiled, in bytes. The rest was read before the first of them:
	// the limit, and how much memory there was.
	sizes, before, used int64
}

// limitMemory limits the memory of Go while a module of that size is compiled, until the caller calls over.
func limitMemory(size int) (over func()) {
	if size < largeModule {
		return func() {}
	}
	c := &collector
	change := func(by int64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sizes == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			c.before, c.used = debug.SetMemoryLimit(-1), int64(m.Sys-m.HeapReleased)
		}
		c.sizes += by
		if c.sizes == 0 {
			debug.SetMemoryLimit(c.before)
		} else {
			debug.SetMemoryLimit(min(c.before, c.used+largeShare*c.sizes))
		}
	}
	change(int64(size))
	return func() { change(-int64(size)) }
}

// releaseMemory gives the system back what a step in the compilation of a module of that size has left.
func releaseMemory(size int) {
	if size >= largeModule {
		debug.FreeOSMemory()
	}
}
