//go:build !unix

package host

// defaultTotalOpenFiles is half of the handles that a process of Windows may be counted on to have.
func defaultTotalOpenFiles() int { return 1 << 13 }
