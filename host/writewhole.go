package host

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
)

// writeWhole writes a file of the user's alone so that at any moment it has all of the old or
// the new content. What is synced is on the disk before it has its name.
func writeWhole(path string, content []byte, sync bool) error {
	written, err := writeBeside(path, content, sync)
	if err != nil {
		return err
	}
	if err := os.Rename(written, path); err != nil {
		return errors.Join(err, os.Remove(written))
	}
	return nil
}

// writeBeside writes a file that is to get the name. It is the caller's.
func writeBeside(path string, content []byte, sync bool) (written string, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*") // of mode 0600
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if sync {
		err = cmp.Or(err, file.Sync())
	}
	if err = cmp.Or(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}
