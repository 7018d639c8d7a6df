package wasi

import (
	"io/fs"
	"syscall"
)

func systemStat(info fs.FileInfo, s *stat) {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device, s.inode, s.links = sys.Dev, sys.Ino, uint64(sys.Nlink)
		s.access = uint64(max(syscall.TimespecToNsec(sys.Atim), 0))
		s.changed = uint64(max(syscall.TimespecToNsec(sys.Ctim), 0))
	}
}
