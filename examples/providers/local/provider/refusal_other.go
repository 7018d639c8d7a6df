//go:build !wasip1

package provider

// isNotGranted returns false, because a program needs no grants.
func isNotGranted(error) bool { return false }
