package program

import (
	"errors"
	"os"
	"path/filepath"
)

// newFileMode is the mode of a new configuration file. It holds no plain
// secrets and belongs under version control.
const newFileMode = 0o644

// writeFile replaces a file's contents as one step, and keeps its mode.
func writeFile(path string, data []byte) (err error) {
	mode := os.FileMode(newFileMode)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link is written through, not replaced
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
