//go:build !unix

package system

// OpenFiles returns half of the handles that a process of Windows may be counted on to have.
func OpenFiles(least int) int { return max(least, 1<<13) }
