// Package atomicfile writes files atomically: at any moment, every reader sees the whole file
// or no file. The content goes to a temporary file in the same directory first.
package atomicfile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Unfinished is the prefix of temporary files, which an interrupted write leaves behind.
const Unfinished = ".new-"

// Write creates or replaces a file. The content is on the disk before the rename, so not even a
// loss of power leaves half of the file.
func Write(path string, content []byte, mode fs.FileMode) error {
	return write(path, content, mode, true)
}

// WriteUnsynced is [Write] without a sync, for content that can be made again: after a loss of
// power the file may hold anything.
func WriteUnsynced(path string, content []byte, mode fs.FileMode) error {
	return write(path, content, mode, false)
}

// Create creates a file that only its owner can read, and leaves an existing file alone.
// Create reports whether it created the file. If the file system has links, exactly one of
// several concurrent callers creates the file.
func Create(path string, content []byte) (made bool, err error) {
	written, err := beside(path, content, 0o600, true)
	if err != nil {
		return false, err
	}
	defer os.Remove(written)
	// Unlike a rename, a link fails if the file exists.
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

// SyncDir makes the names in a directory survive a loss of power. Call it after files were
// written, renamed, or removed there.
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

// beside writes a temporary file in the directory of path. The caller renames or removes it. An error names path.
func beside(path string, content []byte, mode fs.FileMode, sync bool) (written string, err error) {
	defer func() {
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			err = &fs.PathError{Op: "write", Path: path, Err: failed.Err}
		}
	}()
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
