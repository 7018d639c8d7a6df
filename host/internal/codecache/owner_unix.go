//go:build unix

package codecache

import (
	"io/fs"
	"os"
	"syscall"
)

// closedToOthers reports whether only the owner can use a file.
func closedToOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }

// writableByOthers reports whether somebody else can write a file.
func writableByOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }

func ownedByUser(info fs.FileInfo) bool {
	sys, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}

func ownedByRoot(info fs.FileInfo) bool {
	sys, ok := info.Sys().(*syscall.Stat_t)
	return ok && sys.Uid == 0
}
