// Package system knows what this machine can do for a host.
package system

import (
	"runtime"
	"slices"

	"golang.org/x/sys/cpu"
)

// Compiles reports whether wazero has a compiler for the processor and the system, and the system lets a
// program make machine code.
func Compiles() bool {
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
