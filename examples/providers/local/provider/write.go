package provider

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/husk-dev/husk/guest-sdk/files"
)

// writeFile replaces a file or symbolic link with an atomic write. An error leaves the old content. It returns errors of package
// os.
func writeFile(ctx context.Context, target string, content []byte, mode fs.FileMode) (err error) {
	info, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return errIsDirectory
	case !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink:
		return errNotRegular
	}
	suffix := make([]byte, 8)
	if _, err := rand.Read(suffix); err != nil {
		return err
	}
	temporary := path.Join(path.Dir(target), ".husk-"+hex.EncodeToString(suffix))
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(temporary)
		}
	}()
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = files.SetMode(ctx, temporary, mode)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	return os.Rename(temporary, target)
}

// makeDirectory makes a directory and its missing parents with the same permissions. created is false if it exists. It returns
// errors of package os.
func makeDirectory(ctx context.Context, dir string, mode fs.FileMode) (created bool, err error) {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return false, errNotDirectory
	case err == nil:
		return false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	if parent := path.Dir(dir); parent != dir {
		if _, err := makeDirectory(ctx, parent, mode); err != nil {
			return false, err
		}
	}
	// Files in one directory are made in parallel, and so are their parent directories.
	switch err := os.Mkdir(dir, 0o700); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, files.SetMode(ctx, dir, mode)
}
