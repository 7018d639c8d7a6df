//go:build !unix

package codecache

import "io/fs"

// ownedByUser takes the user's cache directory to be the user's: the permissions of
// these systems are inherited from the profile.
func ownedByUser(fs.FileInfo) bool { return true }

// closedToOthers is so for the same reason.
func closedToOthers(fs.FileInfo) bool { return true }

// ownedByRoot is for systems that have such a user.
func ownedByRoot(fs.FileInfo) bool { return false }

func writableByOthers(fs.FileInfo) bool { return false }
