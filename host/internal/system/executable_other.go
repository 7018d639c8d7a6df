//go:build !unix

package system

// executableMemory is there on the one of these systems that wazero compiles for, Windows.
func executableMemory() bool { return true }
