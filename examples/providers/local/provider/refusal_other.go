//go:build !wasip1

package provider

// isNotGranted reports whether a path is in no directory that was granted. Programs
// are granted everything.
func isNotGranted(error) bool { return false }
