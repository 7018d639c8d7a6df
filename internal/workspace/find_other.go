//go:build !unix

package workspace

// isOwned reports true where files have no owner that a number names.
func isOwned(string) (bool, error) { return true, nil }
