package host

import (
	"runtime"
	"slices"

	"golang.org/x/sys/cpu"
)

// CompilerSupported tells whether modules are compiled here: wazero has a compiler for
// the processor and the system, and the system lets a program make machine code. Elsewhere
// a host takes the interpreter by itself.
//
// It is the host that decides, and not wazero, because what a host keeps of a module is
// of use to the compiler only.
func CompilerSupported() bool {
	compiles := []string{"linux", "darwin", "freebsd", "netbsd", "windows"}
	switch runtime.GOARCH {
	case "arm64":
	case "amd64":
		compiles = append(compiles, "dragonfly", "solaris", "illumos")
		if !cpu.X86.HasSSE41 {
			return false
		}
	default:
		return false
	}
	return slices.Contains(compiles, runtime.GOOS) && executableMemory()
}
