package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/husk-dev/husk/bench/internal/figures"
	"github.com/husk-dev/husk/bench/internal/memory"
)

// process is the process's use of resources at one moment.
type process struct {
	// heap is the size of Go's heap after a collection, and resident all memory of the process, in bytes.
	heap, resident float64
	goroutines     float64
	// files is how many file descriptors are open.
	files float64
}

// look returns the process's use of resources. If there is no /proc, resident is the memory that Go got from the system, and files is 1.
func look() process {
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	p := process{
		heap: float64(stats.HeapInuse), resident: float64(stats.Sys - stats.HeapReleased),
		goroutines: float64(runtime.NumGoroutine()), files: 1,
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		p.files = float64(len(open))
	}
	if resident, err := memory.Resident(os.Getpid()); err == nil {
		p.resident = float64(resident)
	}
	return p
}

// The allowed growth from begin to end, as a factor. Memory of the process moves by some percent with the state of Go's heap.
const (
	memoryGoal = 1.1
	countGoal  = 1
)

// since returns the figures since an earlier moment.
func (p process) since(begin process, what string) []figures.Figure {
	name := func(of string) string { return fmt.Sprintf("%s, %s at the end to the begin", what, of) }
	return []figures.Figure{
		figures.Of(name("memory of the process"), p.resident/begin.resident, "x", memoryGoal),
		figures.Of(name("Go's heap"), p.heap/begin.heap, "x", memoryGoal),
		figures.Of(name("goroutines"), p.goroutines/begin.goroutines, "x", countGoal),
		figures.Of(name("file descriptors"), p.files/begin.files, "x", countGoal),
		figures.Of(what+", memory of the process at the end", p.resident/1e6, "MB", 0),
	}
}
