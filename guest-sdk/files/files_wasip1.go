package files

import (
	"context"
	"errors"
	"io/fs"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
)

// SetMode sets the permission bits of a file or directory, as chmod does.
func SetMode(ctx context.Context, path string, mode fs.FileMode) error {
	return pathError("chmod", path, bindings.Files().SetMode(ctx, path, uint32(mode.Perm())))
}

// Mode returns the permission bits of a file or directory.
func Mode(ctx context.Context, path string) (fs.FileMode, error) {
	mode, err := bindings.Files().GetMode(ctx, path)
	return fs.FileMode(mode).Perm(), pathError("stat", path, err)
}

// pathError makes the host's error one that also matches the error of package os.
func pathError(op, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, abi.ErrNotFound):
		err = refusal{err, fs.ErrNotExist}
	case errors.Is(err, abi.ErrDenied):
		err = refusal{err, fs.ErrPermission}
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// refusal has the text of the host's error, which says what to do.
type refusal struct{ host, os error }

func (r refusal) Error() string   { return r.host.Error() }
func (r refusal) Unwrap() []error { return []error{r.host, r.os} }
