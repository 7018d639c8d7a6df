// Package wholefile writes files that have all of their content under their name, or are not
// there, at any moment and for everybody who looks. They are written beside it first.
package wholefile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Unfinished begins the names of files that have not got theirs yet. What has been cut off
// leaves one.
const Unfinished = ".new-"

// Write replaces a file, or makes it. What it holds is on the disk before it has its name, so
// that not even a loss of power leaves half of it.
func Write(path string, content []byte, mode fs.FileMode) error {
	return write(path, content, mode, true)
}

// WriteUnsynced is Write for what can be made again: a loss of power may leave anything.
func WriteUnsynced(path string, content []byte, mode fs.FileMode) error {
	return write(path, content, mode, false)
}

// Create makes a file that only its owner can read, and leaves one that exists as it is.
// made tells which. Of several that create it at once one makes it, where the file system
// has links.
func Create(path string, content []byte) (made bool, err error) {
	written, err := beside(path, content, 0o600, true)
	if err != nil {
		return false, err
	}
	defer os.Remove(written)
	// A link, unlike a rename, fails where the file exists.
	switch err := os.Link(written, path); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrExist):
		return false, nil
	}
	// The file system has no links.
	if _, err := os.Lstat(path); err == nil {
		return false, nil
	}
	err = os.Rename(written, path)
	return err == nil, err
}

// SyncDir makes the names in a directory survive a loss of power, after files were written,
// renamed, or removed there.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // a directory cannot be synced there, nor need it
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func write(path string, content []byte, mode fs.FileMode, sync bool) error {
	written, err := beside(path, content, mode, sync)
	if err != nil {
		return err
	}
	if err := os.Rename(written, path); err != nil {
		return errors.Join(err, os.Remove(written))
	}
	return nil
}

// beside writes a file that is to get the name. It is the caller's.
func beside(path string, content []byte, mode fs.FileMode, sync bool) (written string, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), Unfinished+"*") // which nobody else can read yet
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if err == nil && mode != 0o600 {
		err = file.Chmod(mode)
	}
	if err == nil && sync {
		err = file.Sync()
	}
	if err = cmp.Or(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}
