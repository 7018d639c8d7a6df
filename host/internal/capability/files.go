package capability

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host/internal/wasi"
)

// Files sets and reads permissions inside granted directories. Its refusals list the grants, so a provider that meets ENOTCAPABLE
// can ask here for the reason.
type Files struct {
	System *wasi.FileSystem
	Used   Uses
}

var _ abi.Files = Files{}

// SetMode sets the permissions of a file.
func (f Files) SetMode(_ context.Context, name string, mode uint32) error {
	if mode > uint32(fs.ModePerm) {
		return Failure(abi.ErrorKindInvalidArgument, "the mode has bits beyond 0o777")
	}
	err := fileError(f.System.SetMode(name, fs.FileMode(mode)))
	used := name
	if !path.IsAbs(used) {
		used = path.Join(grant.WorkingDirectory, used)
	}
	f.Used.Note(grant.Text{Capability: grant.NameFS, Scope: used + ":" + grant.ModeReadWrite}, "set the mode of "+name, err)
	return err
}

// GetMode returns the permissions of a file.
func (f Files) GetMode(_ context.Context, path string) (uint32, error) {
	mode, err := f.System.Mode(path)
	return uint32(mode), fileError(err)
}

func fileError(err error) error {
	failure, ok := errors.AsType[*wasi.PathError](err)
	switch {
	case !ok:
		return err
	case failure.Denied():
		return Failure(abi.ErrorKindDenied, failure.Error())
	case failure.NotFound():
		return Failure(abi.ErrorKindNotFound, failure.Error())
	}
	return Failure(abi.ErrorKindInvalidArgument, failure.Error())
}

// OpenFiles opens the granted directories. withheld are files that no grant of a directory above
// them gives.
func OpenFiles(grants grant.Set, withheld []string) (*wasi.FileSystem, error) {
	return wasi.OpenFileSystem(grants.FS, slices.Concat(grants.Withheld, withheld)...)
}
