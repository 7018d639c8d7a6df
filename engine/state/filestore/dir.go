package filestore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/husk-dev/husk/internal/base/filelock"
)

// dir is the FS of a directory. It uses os.Root: a symbolic link in a stranger's project does not
// lead out of the directory.
type dir string

func (d dir) withRoot(do func(*os.Root) error) error {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return err
	}
	return errors.Join(do(root), root.Close())
}

func (d dir) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := d.open(name, flag, perm)
	if err != nil {
		return nil, err // a nil *os.File would be a File that is not nil
	}
	return f, nil
}

func (d dir) open(name string, flag int, perm fs.FileMode) (f *os.File, err error) {
	err = d.withRoot(func(root *os.Root) error {
		f, err = root.OpenFile(name, flag, perm)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d dir) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := d.open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	return entries, errors.Join(err, f.Close())
}

func (d dir) MkdirAll(name string, perm fs.FileMode) error {
	if _, err := os.Stat(string(d)); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(string(d), perm); err != nil {
			return err
		}
		if err := dir(filepath.Dir(string(d))).SyncDir("."); err != nil {
			return err
		}
	}
	return d.withRoot(func(root *os.Root) error { return root.MkdirAll(name, perm) })
}

func (d dir) Rename(from, to string) error {
	return d.withRoot(func(root *os.Root) error { return root.Rename(from, to) })
}

func (d dir) Link(from, to string) error {
	return d.withRoot(func(root *os.Root) error { return root.Link(from, to) })
}

func (d dir) Remove(name string) error {
	return d.withRoot(func(root *os.Root) error { return root.Remove(name) })
}

func (d dir) RemoveAll(name string) error {
	return d.withRoot(func(root *os.Root) error { return root.RemoveAll(name) })
}

func (d dir) SyncDir(name string) error {
	if runtime.GOOS == "windows" {
		return nil // a directory cannot be synced there, nor need it
	}
	f, err := d.open(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Lock retries if the Break of another process replaced the file: the lock of a file without a name
// locks nothing.
func (d dir) Lock(name string) (Lock, error) {
	for {
		if info, err := os.Lstat(d.Path(name)); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a file: remove it", d.Path(name)) // what it leads to never has its name
		}
		f, err := d.open(name, os.O_RDWR|os.O_CREATE, filePerm)
		if err != nil {
			return nil, err
		}
		release, err := filelock.Try(f)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		l := lock{file: f, path: d.Path(name), release: release}
		var named fs.FileInfo
		if l.opened, err = f.Stat(); err == nil {
			named, err = l.named()
		}
		if err == nil && named != nil {
			return l, nil
		}
		if err := errors.Join(err, l.Close()); err != nil {
			return nil, err
		}
	}
}

func (d dir) Path(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

type lock struct {
	file    *os.File
	path    string
	release func() error
	// opened describes the file that is open.
	opened fs.FileInfo
}

func (l lock) Close() error { return errors.Join(l.release(), l.file.Close()) }

// named describes the file if it still has its name. The path may lead to another file by now.
func (l lock) named() (fs.FileInfo, error) {
	named, err := os.Lstat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !os.SameFile(l.opened, named) {
		return nil, nil
	}
	return named, nil
}

// Contents is called with each record, so it does not open the file again.
func (l lock) Contents() ([]byte, error) {
	named, err := l.named()
	if err != nil || named == nil {
		return nil, err
	}
	contents := make([]byte, named.Size())
	n, err := l.file.ReadAt(contents, 0)
	if errors.Is(err, io.EOF) {
		err = nil // it was cut short meanwhile
	}
	return contents[:n], err
}
