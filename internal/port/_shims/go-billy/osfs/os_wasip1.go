package osfs

import (
	"os"
	"syscall"
)

func (f *file) Lock() error   { return syscall.ENOTSUP }
func (f *file) Unlock() error { return syscall.ENOTSUP }

func rename(from, to string) error { return os.Rename(from, to) }

// umask changes nothing, because a module has none.
func umask(int) func() { return func() {} }
