//go:build !unix

package host

import "io/fs"

// ownedByUser takes the user's cache directory to be the user's: the permissions of
// these systems are inherited from the profile.
func ownedByUser(fs.FileInfo) bool { return true }

// closedToOthers is so for the same reason.
func closedToOthers(fs.FileInfo) bool { return true }
