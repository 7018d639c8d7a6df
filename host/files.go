package host

import (
	"context"
	"errors"
	"io/fs"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/internal/printable"
)

// guestFiles sets and tells permissions inside granted directories. Its refusals list
// what is granted, so a provider that meets ENOTCAPABLE can ask here for the reason.
type guestFiles struct {
	*sandbox
	used uses
}

func (f guestFiles) SetMode(_ context.Context, path string, mode uint32) error {
	if mode > uint32(fs.ModePerm) {
		return hostError(abi.ErrorKindInvalidArgument, "the mode has bits beyond 0o777")
	}
	err := fileError(f.files.SetMode(path, fs.FileMode(mode)))
	f.used.note("fs", "set the mode of "+path, err)
	return err
}

func (f guestFiles) GetMode(_ context.Context, path string) (uint32, error) {
	mode, err := f.files.Mode(path)
	return uint32(mode), fileError(err)
}

func hostError(kind abi.ErrorKind, message string) error {
	return &abi.Error{Kind: kind, Origin: abi.ErrorOriginHost, Message: printable.Text(message)}
}

func fileError(err error) error {
	failure, ok := errors.AsType[*wasi.PathError](err)
	switch {
	case !ok:
		return err
	case failure.Denied():
		return hostError(abi.ErrorKindDenied, failure.Error())
	case failure.NotFound():
		return hostError(abi.ErrorKindNotFound, failure.Error())
	}
	return hostError(abi.ErrorKindInvalidArgument, failure.Error())
}
