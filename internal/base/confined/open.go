package confined

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrChanged is the error for a file that another one replaced while it was opened.
var ErrChanged = errors.New("it was replaced meanwhile")

// LinkError is the error for a symbolic link that must not be followed.
type LinkError struct{ Path string }

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s is a symbolic link, which something else could have put there", e.Path)
}

// OpenRoot opens a directory by its path. Unlike [os.OpenRoot], it never waits for the other end of a pipe.
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

// Descend opens a directory below another one without following links. A mode makes missing ones.
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

// Enter opens the directory of that name, which seen describes. The error is ErrChanged if the directory was
// replaced, for example by a symbolic link.
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

// OpenFile opens the file of that name, which seen describes, or creates one if seen is nil. It does not wait for pipes. flags
// are flags of [os.OpenFile] that neither create nor truncate. The error is ErrChanged if the file was replaced.
func OpenFile(dir *os.Root, name string, seen fs.FileInfo, flags int, perm fs.FileMode) (*os.File, error) {
	if seen == nil {
		flags |= os.O_CREATE | os.O_EXCL
	}
	file, err := dir.OpenFile(name, flags|Nonblock, perm)
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
