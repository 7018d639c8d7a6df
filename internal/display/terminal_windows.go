package display

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// isBrokenPipe reports whether a write failed because the reader went away.
func isBrokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}

// enableCommands lets the console understand terminal commands, and reports whether it does.
func enableCommands(f *os.File) bool {
	var mode uint32
	handle := windows.Handle(f.Fd())
	if windows.GetConsoleMode(handle, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
