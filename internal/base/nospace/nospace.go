//go:build !windows && !plan9

package nospace

import (
	"errors"
	"syscall"
)

// Is reports whether the disk, the quota, or the limit of file sizes is reached.
func Is(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
