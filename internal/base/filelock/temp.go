package filelock

import (
	"errors"
	"io/fs"
	"os"
)

// Temp makes a file with a name of its own, as [os.CreateTemp] does, and locks it. Another process that removes leftover files
// may take one that is not locked yet for a leftover: Temp then makes another.
func Temp(dir, pattern string) (file *os.File, release func() error, err error) {
	for {
		file, err := os.CreateTemp(dir, pattern)
		if err != nil {
			return nil, nil, err
		}
		release, err := Try(file)
		if errors.Is(err, ErrHeld) {
			_ = file.Close() // it is the other's to remove
			continue
		}
		if err != nil {
			return nil, nil, errors.Join(err, file.Close(), remove(file.Name()))
		}
		is, err := file.Stat()
		if err != nil {
			return nil, nil, errors.Join(err, Remove(file, release))
		}
		if there, err := os.Lstat(file.Name()); err == nil && os.SameFile(is, there) {
			return file, release, nil
		}
		_, _ = release(), file.Close() // it was removed
	}
}

// Remove removes a file that is locked, and releases it: who gets the lock then sees that the file is gone. A missing file is not
// an error.
func Remove(file *os.File, release func() error) error {
	removing := remove(file.Name())
	err := errors.Join(release(), file.Close())
	if removing != nil { // Windows removes no file that is open
		removing = remove(file.Name())
	}
	return errors.Join(err, removing)
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
