//go:build !windows

package display

import (
	"errors"
	"syscall"
)

// isBrokenPipe reports whether a write failed because the reader went away.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
