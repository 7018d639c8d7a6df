//go:build !windows

package display

import (
	"errors"
	"os"
	"syscall"
)

// isBrokenPipe reports whether a write failed because the reader went away.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// enableCommands reports that terminals understand terminal commands.
func enableCommands(*os.File) bool { return true }
