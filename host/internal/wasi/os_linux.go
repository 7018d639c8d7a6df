package wasi

import (
	"io/fs"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// localFileSystems are those on disks and in memory of this machine. Others may have to wait for
// a server, or for a process that serves them.
var localFileSystems = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.F2FS_SUPER_MAGIC,
	0x2fc12fc1, // ZFS, which is not of the kernel
}

// isLocal reports whether an open file is on a file system that is known to answer.
func isLocal(file *os.File) bool {
	var system unix.Statfs_t
	err := control(file, func(fd int) error { return unix.Fstatfs(fd, &system) })
	return err == nil && slices.Contains(localFileSystems, int64(system.Type))
}

func systemStat(info fs.FileInfo, s *stat) {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device, s.inode, s.links = sys.Dev, sys.Ino, uint64(sys.Nlink)
		s.access = uint64(max(syscall.TimespecToNsec(sys.Atim), 0))
		s.changed = uint64(max(syscall.TimespecToNsec(sys.Ctim), 0))
	}
}
