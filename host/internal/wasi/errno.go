package wasi

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
)

// Errno is a WASI preview 1 error number, as guests see it.
type Errno uint32

// The error numbers that this package returns. The values come from the preview 1 witx definition, and so are the same as in Go's
// syscall package for wasip1.
const (
	success        Errno = 0
	errAccess      Errno = 2
	errAgain       Errno = 6
	errBadf        Errno = 8
	errBusy        Errno = 10
	errCanceled    Errno = 11
	errConnrefused Errno = 14
	errConnreset   Errno = 15
	errDquot       Errno = 19
	errExist       Errno = 20
	errFault       Errno = 21
	errFbig        Errno = 22
	errHostunreach Errno = 23
	errIlseq       Errno = 25
	errIntr        Errno = 27
	errInval       Errno = 28
	errIO          Errno = 29
	errIsdir       Errno = 31
	errLoop        Errno = 32
	errMfile       Errno = 33
	errMlink       Errno = 34
	errNametoo     Errno = 37
	errNetunreach  Errno = 40
	errNoent       Errno = 44
	errNomem       Errno = 48
	errNospc       Errno = 51
	errNosys       Errno = 52
	errNotconn     Errno = 53
	errNotdir      Errno = 54
	errNotempty    Errno = 55
	errNotsup      Errno = 58
	errOverflow    Errno = 61
	errPipe        Errno = 64
	errPerm        Errno = 63
	errRofs        Errno = 69
	errSpipe       Errno = 70
	errTimedout    Errno = 73
	errXdev        Errno = 75
	errNotcapable  Errno = 76
)

// Error makes an Errno usable inside this package as an ordinary error.
func (e Errno) Error() string {
	switch e {
	case errNotcapable:
		return "not inside a granted directory"
	case errRofs:
		return "the grant is read-only"
	case errInval:
		return "invalid argument"
	case errNoent:
		return "no such file or directory"
	case errNotdir:
		return "not a directory"
	case errIlseq:
		return "the path is not valid UTF-8"
	case errNametoo:
		return "the path is too long"
	default:
		return "file system error"
	}
}

// systemErrnos maps the host's error numbers. Those that are missing become EIO,
// which tells a guest nothing about the host.
var systemErrnos = []struct {
	host  syscall.Errno
	guest Errno
}{
	{syscall.ENOENT, errNoent},
	{syscall.EEXIST, errExist},
	{syscall.ENOTDIR, errNotdir},
	{syscall.EISDIR, errIsdir},
	{syscall.ENOTEMPTY, errNotempty},
	{syscall.EACCES, errAccess},
	{syscall.EPERM, errPerm},
	{syscall.EROFS, errRofs},
	{syscall.ENOSPC, errNospc},
	{syscall.EDQUOT, errDquot},
	{syscall.EFBIG, errFbig},
	{syscall.EINVAL, errInval},
	{syscall.ELOOP, errLoop},
	{syscall.EMFILE, errMfile},
	{syscall.ENFILE, errMfile},
	{syscall.EMLINK, errMlink},
	{syscall.ENAMETOOLONG, errNametoo},
	{syscall.EXDEV, errXdev},
	{syscall.EBUSY, errBusy},
	{syscall.ENOTSUP, errNotsup},
	{syscall.ENOMEM, errNomem},
	{syscall.ESPIPE, errSpipe},
	{syscall.EOVERFLOW, errOverflow},
	{syscall.EINTR, errIntr},
	{syscall.EAGAIN, errAgain},
	{syscall.ECONNREFUSED, errConnrefused},
	{syscall.ECONNRESET, errConnreset},
	{syscall.EHOSTUNREACH, errHostunreach},
	{syscall.ENETUNREACH, errNetunreach},
	{syscall.ENOTCONN, errNotconn},
	{syscall.EPIPE, errPipe},
	{syscall.ETIMEDOUT, errTimedout},
}

func errnoOf(err error) Errno {
	if err == nil {
		return success
	}
	if errno, ok := errors.AsType[Errno](err); ok {
		return errno
	}
	if host, ok := errors.AsType[syscall.Errno](err); ok {
		for _, pair := range systemErrnos {
			if host == pair.host {
				return pair.guest
			}
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errNoent
	case errors.Is(err, fs.ErrExist):
		return errExist
	case errors.Is(err, fs.ErrPermission):
		return errAccess
	case errors.Is(err, fs.ErrClosed):
		return errBadf
	case errors.Is(err, fs.ErrInvalid):
		return errInval
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return errIntr
	}
	return errIO
}
