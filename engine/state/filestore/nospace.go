//go:build !windows && !plan9

package filestore

import (
	"errors"
	"syscall"
)

// noSpace reports whether the disk, the quota, or the limit of file sizes is reached.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
