//go:build !windows && !plan9

package filestore

import (
	"errors"
	"syscall"
)

// noSpace reports whether an error says that the disk, the user's quota, or the
// process's limit of file sizes is reached.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
