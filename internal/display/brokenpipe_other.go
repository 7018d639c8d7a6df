//go:build !windows

package display

import (
	"errors"
	"syscall"
)

// isBrokenPipe reports whether a write has failed since nobody reads any more.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
