package display

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableCommands has the console understand terminal commands, and reports
// whether it does.
func enableCommands(f *os.File) bool {
	var mode uint32
	handle := windows.Handle(f.Fd())
	if windows.GetConsoleMode(handle, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
