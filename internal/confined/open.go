package confined

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrChanged is a file that another one took the place of while it was opened.
var ErrChanged = errors.New("it was replaced meanwhile")

// LinkError is a symbolic link where none is followed.
type LinkError struct{ Path string }

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s is a symbolic link, which something else could have put there", e.Path)
}

// OpenRoot opens a directory by its path. Unlike [os.OpenRoot] it does not wait for the other end
// of a pipe.
func OpenRoot(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// Descend opens a directory below another one. None of the names may be that of a symbolic link.
// Unless mode is 0, it makes those that are missing.
func Descend(from *os.Root, names []string, mode fs.FileMode) (*os.Root, error) {
	at, err := from.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if mode != 0 {
			if err := at.Mkdir(name, mode); err != nil && !errors.Is(err, fs.ErrExist) {
				at.Close()
				return nil, err
			}
		}
		next, err := enterNamed(at, name)
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

func enterNamed(dir *os.Root, name string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil, &LinkError{filepath.Join(dir.Name(), name)}
	}
	return Enter(dir, name, info)
}

// Enter opens the directory of that name, which was seen to be this one. It may have been
// replaced since then, by a symbolic link most of all: then the error is ErrChanged.
func Enter(dir *os.Root, name string, seen fs.FileInfo) (*os.Root, error) {
	if !seen.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	entered, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	info, err := entered.Stat(".")
	if err == nil && !os.SameFile(info, seen) {
		err = ErrChanged
	}
	if err != nil {
		entered.Close()
		return nil, err
	}
	return entered, nil
}

// OpenFile opens the file of that name, which was seen to be this one, or nil to make one where
// there was none. It does not wait for pipes. flags and perm are those of [os.OpenFile], without
// those that create or truncate. Where another file took its place, the error is ErrChanged.
func OpenFile(dir *os.Root, name string, seen fs.FileInfo, flags int, perm fs.FileMode) (*os.File, error) {
	if seen == nil {
		flags |= os.O_CREATE | os.O_EXCL
	}
	file, err := dir.OpenFile(name, flags|nonblock, perm)
	if seen != nil && errors.Is(err, fs.ErrNotExist) {
		return nil, ErrChanged
	}
	if err != nil || seen == nil {
		return file, err
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(info, seen) {
		err = ErrChanged
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
